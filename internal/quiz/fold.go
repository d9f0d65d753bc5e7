package quiz

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns the form in which texts are compared: Unicode compatibility
// caseless matching (The Unicode Standard, definition D146, composed: NFKC),
// trimmed, with single spaces. Fold(Fold(s)) == Fold(s).
func Fold(s string) string {
	for range maxFoldRounds {
		folded := foldOnce(s)
		if folded == s {
			break
		}
		s = folded
	}
	return s
}

// maxFoldRounds limits the search for a fixed point. One round is enough except
// for runs of over 30 combining marks, which package norm splits.
const maxFoldRounds = 4

func foldOnce(s string) string {
	if isASCII(s) { // most answers: only the case can change
		return strings.Join(strings.Fields(strings.ToLower(s)), " ")
	}
	// The first fold needs the decomposed form, because composed letters can
	// contain an iota subscript. The second fold handles what compatibility
	// mapping produced.
	fold := cases.Fold()
	s = norm.NFKC.String(fold.String(norm.NFD.String(s)))
	s = norm.NFKC.String(fold.String(s))
	return strings.Join(strings.Fields(s), " ")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
