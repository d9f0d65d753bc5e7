package nickname

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// RulesVersion moves with every change of what skeletonOf gives: what was kept
// of other rules (skeletons in a ledger, snapshots of filters) is then reckoned
// anew.
const RulesVersion = 2

// MaxSkeleton bounds a skeleton, in bytes.
const MaxSkeleton = 512

// skeletonOf is the key under which names count as one: folded, each character
// then replaced by the one that stands for all that look like it. Doing it again
// changes nothing.
func skeletonOf(text string) string {
	table := lookalikes()
	text = folded(text)
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		if stands, ok := table.of(r); ok {
			b.WriteString(stands)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFKD.String(b.String())
}

// folded is a text blind to case and to forms of writing, taken apart: NFKD of
// its full case folding, since lower case alone tells ß from ss and ς from σ.
// What folding brings up may have to be folded again (Unicode, D146).
func folded(text string) string {
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

// foldCherokee gives the capitals of Cherokee, to which its small letters fold
// (Unicode, CaseFolding.txt). cases.Fold exchanges the two.
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
