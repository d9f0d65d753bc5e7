package nickname

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

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
