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

// lookalikes maps each case-folded character to its replacement in skeletons. Characters
// that look alike have the same replacement. Some look like several others: m looks like
// rn.
//
// The table combines the data of UTS #39 (confusables.txt) and case folding into one
// equivalence. Example: Cyrillic в does not look like b, but its capital В looks like B,
// so all four are equal. Such chains would finally make n and v equal: the capital of
// Greek ν looks like N. No reader confuses n with v, so the table leaves out pairs that
// would make two different ASCII characters equal. Exceptions are i and l, and pairs
// that the data itself has. Of two such pairs, the one about capitals stays.
var lookalikes = sync.OnceValue(func() lookalikeTable {
	j := &classBuilder{parent: map[rune]rune{}, anchors: map[rune]rune{}, spelling: map[rune]string{}}
	return j.buildTable(confusables())
})

type lookalikeTable struct {
	ascii    [utf8.RuneSelf]string // "": itself
	others   map[rune]string
	excluded []confusion
}

// replacement returns the replacement of a folded character.
func (t *lookalikeTable) replacement(r rune) (string, bool) {
	if r < utf8.RuneSelf {
		return t.ascii[r], t.ascii[r] != ""
	}
	s, ok := t.others[r]
	return s, ok
}

// confusion is a pair of the data: from looks like to.
type confusion struct {
	from     rune
	to       string
	foldFrom string
	foldTo   string
}

// lastConfusable is above all characters of the data, except one that is invisible.
const lastConfusable = 0x40000

// confusables returns the pairs of the data about characters that a name can have. If
// two pairs exclude each other, the one that stays comes first. Characters that folding
// decomposes are in no folded name.
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
	parent   map[rune]rune
	anchors  map[rune]rune   // ASCII character that represents a class
	spelling map[rune]string // characters that a class looks like, if there are several
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

// root returns the character that identifies a class.
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

// merge makes two classes one. It refuses to make two different ASCII characters equal
// unless that is intended.
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

// setSpelling makes a class look like several characters. It refuses if the class has
// another look already, or would look like a part of itself.
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

// contains reports whether text, with all spellings replaced, contains a character of
// the class.
func (j *classBuilder) contains(text string, root rune) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		class := j.root(r)
		return class == root || j.spelling[class] != "" && j.contains(j.spelling[class], root)
	})
}

// resolve replaces each character by its replacement. It ends because no class is spelt
// with itself.
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
