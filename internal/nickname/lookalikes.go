package nickname

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.mau.fi/util/confusable"
	"golang.org/x/text/unicode/norm"
)

// lookalikes returns the table that maps case-folded characters to their replacement in
// skeletons. Characters that look alike have the same replacement. Some characters look
// like several others: m looks like rn. The table is built at the first call.
//
// The table combines the data of UTS #39 (confusables.txt) and case folding into one
// equivalence. Example: Cyrillic в does not look like b, but its capital В looks like B,
// so all four are equal. But such chains would also make n and v equal: the capital of
// Greek ν looks like N. No reader confuses n with v, so the table leaves out pairs that
// would make two different ASCII characters equal. Exceptions are i and l, and pairs
// that the data itself has. If two pairs exclude each other, the one about capitals stays.
var lookalikes = sync.OnceValue(func() lookalikeTable {
	j := &classBuilder{parent: map[rune]rune{}, asciiMembers: map[rune]rune{}, spellings: map[rune]string{}}
	return j.buildTable(confusablePairs())
})

type lookalikeTable struct {
	asciiReplacements [utf8.RuneSelf]string // by character; "": the character itself
	otherReplacements map[rune]string       // by character; missing: the character itself
	excluded          []confusablePair      // pairs of the data that the table leaves out
}

// replacement returns the replacement of a case-folded character. ok is false if the
// character is its own replacement.
func (t *lookalikeTable) replacement(char rune) (string, bool) {
	if char < utf8.RuneSelf {
		return t.asciiReplacements[char], t.asciiReplacements[char] != ""
	}
	text, ok := t.otherReplacements[char]
	return text, ok
}

// confusablePair is a pair of the data: original looks like replacement. The folded forms
// are the results of foldText.
type confusablePair struct {
	original    rune
	replacement string
	foldedFrom  string
	foldedTo    string
}

// lastConfusable is above all original characters of the data, except one that is
// invisible.
const lastConfusable = 0x40000

// confusablePairs returns the pairs of the data about characters that a name can have. If
// two pairs exclude each other, the one to keep comes first. It leaves out characters that
// folding decomposes, because no folded name contains them.
func confusablePairs() []confusablePair {
	var pairs []confusablePair
	for char := range rune(lastConfusable) {
		replacement := confusable.GetReplacement(char)
		if replacement == "" || !norm.NFKC.IsNormalString(string(char)) {
			continue
		}
		pair := confusablePair{original: char, replacement: replacement, foldedFrom: foldText(string(char)), foldedTo: foldText(replacement)}
		if utf8.RuneCountInString(pair.foldedFrom) == 1 {
			pairs = append(pairs, pair)
		}
	}
	slices.SortStableFunc(pairs, func(x, y confusablePair) int { return cmp.Compare(x.priority(), y.priority()) })
	return pairs
}

// priority returns a number by which pairs are sorted. Pairs with lower numbers come first
// and are kept.
func (c confusablePair) priority() int {
	switch {
	case c.original < utf8.RuneSelf:
		return 0
	case c.foldedTo[0] >= utf8.RuneSelf || len(c.foldedTo) > 1:
		return 3
	case c.foldedFrom != string(c.original):
		return 1
	}
	return 2
}

// classBuilder builds classes of characters that count as equal (union-find).
type classBuilder struct {
	parent       map[rune]rune   // union-find tree; a root is its own parent
	asciiMembers map[rune]rune   // root of a class → the class's ASCII character; missing: none
	spellings    map[rune]string // root of a class → the several characters that it looks like
}

func (j *classBuilder) buildTable(pairs []confusablePair) lookalikeTable {
	var table lookalikeTable
	j.mergeClasses('i', 'l', true)
	for _, pair := range pairs {
		fromChar, toChar := singleRune(pair.foldedFrom), singleRune(pair.foldedTo)
		if toChar != 0 && !j.mergeClasses(fromChar, toChar, pair.original < utf8.RuneSelf) {
			table.excluded = append(table.excluded, pair)
		}
	}
	for _, pair := range pairs {
		if singleRune(pair.foldedTo) == 0 && !j.setSpelling(pair) {
			table.excluded = append(table.excluded, pair)
		}
	}
	table.otherReplacements = map[rune]string{}
	for char := range j.parent {
		replacement := j.replaceAll(string(char))
		switch {
		case replacement == string(char):
		case char < utf8.RuneSelf:
			table.asciiReplacements[char] = replacement
		default:
			table.otherReplacements[char] = replacement
		}
	}
	return table
}

// singleRune returns the only character of s, or 0.
func singleRune(text string) rune {
	char, size := utf8.DecodeRuneInString(text)
	if size != len(text) {
		return 0
	}
	return char
}

// rootOf returns the character that identifies the class of a character. A new character
// gets a class of its own.
func (j *classBuilder) rootOf(char rune) rune {
	parent, known := j.parent[char]
	if !known {
		j.parent[char] = char
		if char < utf8.RuneSelf {
			j.asciiMembers[char] = char
		}
		return char
	}
	if parent != char {
		parent = j.rootOf(parent)
		j.parent[char] = parent
	}
	return parent
}

// mergeClasses joins the classes of two characters, and reports whether they are joined. It
// refuses to make two different ASCII characters equal unless isIntended is true.
func (j *classBuilder) mergeClasses(fromChar, toChar rune, isIntended bool) bool {
	fromRoot, toRoot := j.rootOf(fromChar), j.rootOf(toChar)
	if fromRoot == toRoot {
		return true
	}
	fromASCII, toASCII := j.asciiMembers[fromRoot], j.asciiMembers[toRoot]
	if fromASCII != 0 && toASCII != 0 && !isIntended {
		return false
	}
	// The smallest is the root, so that the table is the same each time.
	if toRoot > fromRoot {
		fromRoot, toRoot = toRoot, fromRoot
	}
	j.parent[fromRoot] = toRoot
	if toASCII == 0 {
		toASCII = fromASCII
	}
	if toASCII != 0 {
		j.asciiMembers[toRoot] = toASCII
	}
	return true
}

// setSpelling records that a class looks like several characters, and reports whether it
// does. It refuses if the class already looks like something else, or if the characters
// contain the class itself.
func (j *classBuilder) setSpelling(pair confusablePair) bool {
	root := j.rootOf(singleRune(pair.foldedFrom))
	if asciiMember := j.asciiMembers[root]; asciiMember != 0 && pair.original >= utf8.RuneSelf {
		return j.replaceAll(string(asciiMember)) == j.replaceAll(pair.foldedTo)
	}
	if j.spellings[root] != "" {
		return j.spellings[root] == pair.foldedTo || j.replaceAll(j.spellings[root]) == j.replaceAll(pair.foldedTo)
	}
	if j.contains(pair.foldedTo, root) {
		return false
	}
	j.spellings[root] = pair.foldedTo
	return true
}

// contains reports whether text contains a character of a class, also after classes in text
// are replaced by their spellings.
func (j *classBuilder) contains(text string, root rune) bool {
	return strings.ContainsFunc(text, func(char rune) bool {
		class := j.rootOf(char)
		return class == root || j.spellings[class] != "" && j.contains(j.spellings[class], root)
	})
}

// replaceAll replaces each character of text by its replacement in skeletons. The recursion
// ends because no spelling contains its own class.
func (j *classBuilder) replaceAll(text string) string {
	var builder strings.Builder
	for _, char := range text {
		root := j.rootOf(char)
		switch spelling := j.spellings[root]; {
		case spelling != "":
			builder.WriteString(j.replaceAll(spelling))
		case j.asciiMembers[root] != 0:
			builder.WriteRune(j.asciiMembers[root])
		default:
			builder.WriteRune(root)
		}
	}
	return builder.String()
}
