package bank

import (
	"errors"
	"strings"

	"laststand/internal/quiz"
)

// ErrTooFewQuestions means that fewer questions match than a draw asked for.
var ErrTooFewQuestions = errors.New("bank: too few questions")

// ErrUnknownID means that the pool has no question with an id.
var ErrUnknownID = errors.New("bank: no question with this id")

// DrawSpec says which questions a match needs. An empty text field matches any value.
type DrawSpec struct {
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

func (s *DrawSpec) poolKey() poolKey {
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
