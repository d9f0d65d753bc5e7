package bank

import (
	"errors"
	"strings"

	"laststand/internal/quiz"
)

// ErrTooFew is wrapped by the error of a draw that asks for more questions than
// match.
var ErrTooFew = errors.New("bank: too few questions")

// ErrUnknown is wrapped by the error of a pick with an unknown id.
var ErrUnknown = errors.New("bank: no question of this id")

// Spec describes the questions of a match. An empty field matches any.
type Spec struct {
	Category   string // compared folded, see quiz.Fold
	Lang       string // "en" matches en and en-GB: basic filtering, RFC 4647, 3.3.1
	Difficulty string
	Count      int
}

// poolKey identifies a list of questions of a Pool; "" stands for any.
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
