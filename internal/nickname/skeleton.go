package nickname

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// RulesVersion must be raised with every change of the results of computeSkeleton. Then
// nodes read filter snapshots with another version no more. The same release must
// compute the skeletons in ledgers again, in a migration.
const RulesVersion = 2

// MaxSkeleton is the largest length of a skeleton, in bytes.
const MaxSkeleton = 512

// computeSkeleton returns the skeleton of a text: names with the same skeleton count as the
// same. It folds the text and replaces each character by the replacement of its
// lookalikes. The skeleton of a skeleton is itself. Example: "Аdа" with Cyrillic А and "ada" have the skeleton "ada".
func computeSkeleton(text string) string {
	replacements := lookalikes()
	text = foldText(text)
	var builder strings.Builder
	builder.Grow(len(text))
	for _, char := range text {
		if replacement, ok := replacements[char]; ok {
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

// lookalikesText has one line per class of characters that look alike: the replacement of
// the class and its case-folded members, both quoted as in Go. Skeletons in the ledger depend
// on it, so a change of the file needs a new RulesVersion.
//
// The classes combine the data of UTS #39 (confusables.txt, Unicode 17) and case folding into
// one equivalence. Example: Cyrillic в does not look like b, but its capital В looks like B,
// so all four are equal. But such chains would also make n and v equal: the capital of Greek ν
// looks like N. No reader confuses n with v, so the file leaves out pairs that would make two
// different ASCII characters equal. Exceptions are i and l, and pairs that the data itself has.
//
//go:embed lookalikes.txt
var lookalikesText string

// lookalikes returns the replacement of each case-folded character that has one. Some
// characters look like several others: m looks like rn. The map is built at the first call.
var lookalikes = sync.OnceValue(func() map[rune]string {
	replacements := map[rune]string{}
	for line := range strings.Lines(lookalikesText) {
		var replacement, members string
		if _, err := fmt.Sscanf(line, "%q %q", &replacement, &members); err != nil {
			panic(fmt.Sprintf("nickname: lookalikes.txt: %q: %v", line, err))
		}
		for _, member := range members {
			replacements[member] = replacement
		}
	}
	return replacements
})
