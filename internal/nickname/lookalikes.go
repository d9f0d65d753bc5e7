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
	j := &classBuilder{parent: map[rune]rune{}, anchors: map[rune]rune{}, spelling: map[rune]string{}}
	return j.buildTable(confusables())
})

type lookalikeTable struct {
	ascii    [utf8.RuneSelf]string // by character; "": the character itself
	others   map[rune]string       // by character; missing: the character itself
	excluded []confusion           // pairs of the data that the table leaves out
}

// replacement returns the replacement of a case-folded character. ok is false if the
// character is its own replacement.
func (t *lookalikeTable) replacement(r rune) (string, bool) {
	if r < utf8.RuneSelf {
		return t.ascii[r], t.ascii[r] != ""
	}
	s, ok := t.others[r]
	return s, ok
}

// confusablePair is a pair of the data: original looks like replacement. The folded forms
// are the results of foldText.
type confusion struct {
	from     rune
	to       string
	foldFrom string
	foldTo   string
}

// lastConfusable is above all original characters of the data, except one that is
// invisible.
const lastConfusable = 0x40000

// confusablePairs returns the pairs of the data about characters that a name can have. If
// two pairs exclude each other, the one to keep comes first. It leaves out characters that
// folding decomposes, because no folded name contains them.
func confusables() []confusion {
	var all []confusion
	for r := range rune(lastConfusable) {
		to := confusable.GetReplacement(r)
		if to == "" || !norm.NFKC.IsNormalString(string(r)) {
			continue
		}
		c := confusion{from: r, to: to, foldFrom: foldText(string(r)), foldTo: foldText(to)}
		if utf8.RuneCountInString(c.foldFrom) == 1 {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b confusion) int { return cmp.Compare(a.rank(), b.rank()) })
	return all
}

// priority returns a number by which pairs are sorted. Pairs with lower numbers come first
// and are kept.
func (c confusion) rank() int {
	switch {
	case c.from < utf8.RuneSelf:
		return 0
	case c.foldTo[0] >= utf8.RuneSelf || len(c.foldTo) > 1:
		return 3
	case c.foldFrom != string(c.from):
		return 1
	}
	return 2
}

// classBuilder builds classes of characters that count as equal (union-find).
type classBuilder struct {
	parent   map[rune]rune   // union-find tree; a root is its own parent
	anchors  map[rune]rune   // root of a class → the class's ASCII character; missing: none
	spelling map[rune]string // root of a class → the several characters that it looks like
}

func (j *classBuilder) buildTable(all []confusion) lookalikeTable {
	var t lookalikeTable
	j.merge('i', 'l', true)
	for _, c := range all {
		from, to := singleRune(c.foldFrom), singleRune(c.foldTo)
		if to != 0 && !j.merge(from, to, c.from < utf8.RuneSelf) {
			t.excluded = append(t.excluded, c)
		}
	}
	for _, c := range all {
		if singleRune(c.foldTo) == 0 && !j.setSpelling(c) {
			t.excluded = append(t.excluded, c)
		}
	}
	t.others = map[rune]string{}
	for r := range j.parent {
		replacement := j.resolve(string(r))
		switch {
		case replacement == string(r):
		case r < utf8.RuneSelf:
			t.ascii[r] = replacement
		default:
			t.others[r] = replacement
		}
	}
	return t
}

// singleRune returns the only character of s, or 0.
func singleRune(s string) rune {
	r, size := utf8.DecodeRuneInString(s)
	if size != len(s) {
		return 0
	}
	return r
}

// rootOf returns the character that identifies the class of a character. A new character
// gets a class of its own.
func (j *classBuilder) root(r rune) rune {
	p, known := j.parent[r]
	if !known {
		j.parent[r] = r
		if r < utf8.RuneSelf {
			j.anchors[r] = r
		}
		return r
	}
	if p != r {
		p = j.root(p)
		j.parent[r] = p
	}
	return p
}

// mergeClasses joins the classes of two characters, and reports whether they are joined. It
// refuses to make two different ASCII characters equal unless isIntended is true.
func (j *classBuilder) merge(from, to rune, isIntended bool) bool {
	a, b := j.root(from), j.root(to)
	if a == b {
		return true
	}
	x, y := j.anchors[a], j.anchors[b]
	if x != 0 && y != 0 && !isIntended {
		return false
	}
	// The smallest is the root, so that the table is the same each time.
	if b > a {
		a, b = b, a
	}
	j.parent[a] = b
	if y == 0 {
		y = x
	}
	if y != 0 {
		j.anchors[b] = y
	}
	return true
}

// setSpelling records that a class looks like several characters, and reports whether it
// does. It refuses if the class already looks like something else, or if the characters
// contain the class itself.
func (j *classBuilder) setSpelling(c confusion) bool {
	root := j.root(singleRune(c.foldFrom))
	if anchor := j.anchors[root]; anchor != 0 && c.from >= utf8.RuneSelf {
		return j.resolve(string(anchor)) == j.resolve(c.foldTo)
	}
	if j.spelling[root] != "" {
		return j.spelling[root] == c.foldTo || j.resolve(j.spelling[root]) == j.resolve(c.foldTo)
	}
	if j.contains(c.foldTo, root) {
		return false
	}
	j.spelling[root] = c.foldTo
	return true
}

// contains reports whether text contains a character of a class, also after classes in text
// are replaced by their spellings.
func (j *classBuilder) contains(text string, root rune) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		class := j.root(r)
		return class == root || j.spelling[class] != "" && j.contains(j.spelling[class], root)
	})
}

// replaceAll replaces each character of text by its replacement in skeletons. The recursion
// ends because no spelling contains its own class.
func (j *classBuilder) resolve(text string) string {
	var b strings.Builder
	for _, r := range text {
		root := j.root(r)
		switch spelling := j.spelling[root]; {
		case spelling != "":
			b.WriteString(j.resolve(spelling))
		case j.anchors[root] != 0:
			b.WriteRune(j.anchors[root])
		default:
			b.WriteRune(root)
		}
	}
	return b.String()
}
