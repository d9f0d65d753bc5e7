package nickname

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// RulesVersion must be raised with every change of the results of computeSkeleton. Then
// skeletons in ledgers and filter snapshots with another version are computed again.
const RulesVersion = 2

// MaxSkeleton is the largest length of a skeleton, in bytes.
const MaxSkeleton = 512

// computeSkeleton returns the skeleton of a text: names with the same skeleton count as the
// same. It folds the text and replaces each character by the replacement of its
// lookalikes. The skeleton of a skeleton is itself. Example: "Аdа" with Cyrillic А and "ada" have the skeleton "ada".
func skeletonOf(text string) string {
	table := lookalikes()
	text = foldText(text)
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		if replacement, ok := table.replacement(r); ok {
			b.WriteString(replacement)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFKD.String(b.String())
}

// foldText removes differences of case and of Unicode forms: NFKD of the full case
// folding. Lower case alone would distinguish ß from ss, and ς from σ. The result of
// folding may need folding again (Unicode, D146).
func foldText(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	for range 3 {
		again := norm.NFKD.String(foldCherokee(cases.Fold().String(norm.NFKD.String(text))))
		if again == text {
			break
		}
		text = again
	}
	return text
}

// foldCherokee maps Cherokee letters to capitals, to which small letters fold (Unicode,
// CaseFolding.txt). cases.Fold maps them the other way.
func foldCherokee(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Cherokee, r) }) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cherokee, r) {
			return unicode.ToUpper(r)
		}
		return r
	}, text)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
