package bank

import (
	"errors"
	"strings"

	"laststand/internal/quiz"
)

// ErrTooFew means that fewer questions match than a draw asked for.
var ErrTooFew = errors.New("bank: too few questions")

// ErrUnknown means that the pool has no question with an id.
var ErrUnknown = errors.New("bank: no question with this id")

// Spec says which questions a match needs. An empty text field matches any value.
type Spec struct {
	Category   string // compared folded, see quiz.Fold
	Lang       string // "en" matches en and en-GB: basic filtering, RFC 4647, 3.3.1
	Difficulty string
	Count      int // how many questions to draw
}

// poolKey identifies a list of questions in a Pool. A field "" means any value.
type poolKey struct {
	category   string // folded
	lang       string // lower case
	difficulty quiz.Difficulty
}

func (s *Spec) key() poolKey {
	return poolKey{quiz.Fold(s.Category), strings.ToLower(s.Lang), quiz.Difficulty(s.Difficulty)}
}

// poolKeys returns the keys of all lists that contain a question.
func poolKeys(q *quiz.Question) []poolKey {
	var keys []poolKey
	category := quiz.Fold(q.Category)
	for _, lang := range langRanges(q.Lang) {
		for _, c := range []string{"", category} {
			keys = append(keys, poolKey{c, lang, ""}, poolKey{c, lang, q.Difficulty})
		}
	}
	return keys
}

// langRanges returns the language ranges that match a tag: zh-Hant-TW is in
// "", "zh", "zh-hant" and "zh-hant-tw".
func langRanges(tag string) []string {
	tag = strings.ToLower(tag)
	ranges := []string{""}
	for i := range len(tag) {
		if tag[i] == '-' {
			ranges = append(ranges, tag[:i])
		}
	}
	return append(ranges, tag)
}
