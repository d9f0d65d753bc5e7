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

// lookalikes says for each character, folded, what stands for it in a skeleton.
// Characters that look alike have one that stands for all of them; some look
// like several others (m like rn).
//
// It is the data of UTS #39 (confusables.txt) made one equivalence together with
// case: Cyrillic в looks like no b, but its capital В like B, so all four are
// one. Such chains would in the end make one letter of n and v (by the Greek ν,
// of which the capital looks like N), which nobody takes for each other. So a
// pair of the data is left out that would make one of two different ASCII
// characters, beyond what the data says of these themselves and beyond i and l;
// of two such pairs that stays which is about capitals.
var lookalikes = sync.OnceValue(func() lookalikeTable {
	j := &joining{parent: map[rune]rune{}, anchors: map[rune]rune{}, spelt: map[rune]string{}}
	return j.table(confusables())
})

type lookalikeTable struct {
	ascii   [utf8.RuneSelf]string // "": itself
	others  map[rune]string
	leftOut []confusion
}

// of is what stands for a folded character.
func (t *lookalikeTable) of(r rune) (string, bool) {
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

// lastConfusable is beyond all characters that the data speaks of, but for one
// that shows nothing.
const lastConfusable = 0x40000

// confusables are the pairs of the data about characters that a name may have,
// those first that stay of two that exclude each other. What folding takes
// apart is in no name once it is folded.
func confusables() []confusion {
	var all []confusion
	for r := range rune(lastConfusable) {
		to := confusable.GetReplacement(r)
		if to == "" || !norm.NFKC.IsNormalString(string(r)) {
			continue
		}
		c := confusion{from: r, to: to, foldFrom: folded(string(r)), foldTo: folded(to)}
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

// joining makes classes of characters that count as one (union-find).
type joining struct {
	parent  map[rune]rune
	anchors map[rune]rune   // of a class that has ASCII characters: the one that stands for it
	spelt   map[rune]string // of a class that looks like several characters: these
}

func (j *joining) table(all []confusion) lookalikeTable {
	var t lookalikeTable
	j.join('i', 'l', true)
	for _, c := range all {
		from, to := only(c.foldFrom), only(c.foldTo)
		if to != 0 && !j.join(from, to, c.from < utf8.RuneSelf) {
			t.leftOut = append(t.leftOut, c)
		}
	}
	for _, c := range all {
		if only(c.foldTo) == 0 && !j.spell(c) {
			t.leftOut = append(t.leftOut, c)
		}
	}
	t.others = map[rune]string{}
	for r := range j.parent {
		stands := j.resolve(string(r))
		switch {
		case stands == string(r):
		case r < utf8.RuneSelf:
			t.ascii[r] = stands
		default:
			t.others[r] = stands
		}
	}
	return t
}

// only is the one character of s, or 0.
func only(s string) rune {
	r, size := utf8.DecodeRuneInString(s)
	if size != len(s) {
		return 0
	}
	return r
}

// root is the character that a class is known by.
func (j *joining) root(r rune) rune {
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

// join makes one class of two, unless that would make one of two different
// ASCII characters and they are not meant to be.
func (j *joining) join(from, to rune, meant bool) bool {
	a, b := j.root(from), j.root(to)
	if a == b {
		return true
	}
	x, y := j.anchors[a], j.anchors[b]
	if x != 0 && y != 0 && !meant {
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

// spell has a class look like several characters, unless it looks like
// something else already, or would look like a part of itself.
func (j *joining) spell(c confusion) bool {
	root := j.root(only(c.foldFrom))
	if anchor := j.anchors[root]; anchor != 0 && c.from >= utf8.RuneSelf {
		return j.resolve(string(anchor)) == j.resolve(c.foldTo)
	}
	if j.spelt[root] != "" {
		return j.spelt[root] == c.foldTo || j.resolve(j.spelt[root]) == j.resolve(c.foldTo)
	}
	if j.holds(c.foldTo, root) {
		return false
	}
	j.spelt[root] = c.foldTo
	return true
}

// holds reports whether text, spelt out, holds a character of the class.
func (j *joining) holds(text string, root rune) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		class := j.root(r)
		return class == root || j.spelt[class] != "" && j.holds(j.spelt[class], root)
	})
}

// resolve puts in what stands for each character. It ends, as no class is spelt
// by itself.
func (j *joining) resolve(text string) string {
	var b strings.Builder
	for _, r := range text {
		root := j.root(r)
		switch spelt := j.spelt[root]; {
		case spelt != "":
			b.WriteString(j.resolve(spelt))
		case j.anchors[root] != 0:
			b.WriteRune(j.anchors[root])
		default:
			b.WriteRune(root)
		}
	}
	return b.String()
}
