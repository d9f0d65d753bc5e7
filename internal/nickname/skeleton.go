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
func computeSkeleton(text string) string {
	table := lookalikes()
	text = foldText(text)
	var builder strings.Builder
	builder.Grow(len(text))
	for _, char := range text {
		if replacement, ok := table.replacement(char); ok {
			builder.WriteString(replacement)
		} else {
			builder.WriteRune(char)
		}
	}
	return norm.NFKD.String(builder.String())
}

// foldText removes differences of case and of Unicode forms: NFKD of the full case
// folding. Lower case alone would distinguish ß from ss, and ς from σ. The result of
// folding may need folding again (Unicode, D146).
func foldText(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	for range 3 {
		folded := norm.NFKD.String(foldCherokee(cases.Fold().String(norm.NFKD.String(text))))
		if folded == text {
			break
		}
		text = folded
	}
	return text
}

// foldCherokee maps Cherokee letters to capitals, to which small letters fold (Unicode,
// CaseFolding.txt). cases.Fold maps them the other way.
func foldCherokee(text string) string {
	if !strings.ContainsFunc(text, func(char rune) bool { return unicode.Is(unicode.Cherokee, char) }) {
		return text
	}
	return strings.Map(func(char rune) rune {
		if unicode.Is(unicode.Cherokee, char) {
			return unicode.ToUpper(char)
		}
		return char
	}, text)
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(char rune) bool { return char >= utf8.RuneSelf })
}
