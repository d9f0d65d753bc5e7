package nickname

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

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
