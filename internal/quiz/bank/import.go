package bank

import (
	"errors"
	"fmt"

	"laststand/internal/quiz"
)

// Bounds of one import.
const (
	MaxBytes     = 64 << 20
	MaxQuestions = 200_000 // items, taken and skipped
)

var (
	// ErrFormat is wrapped by the error of an input that as a whole is not what
	// it should be; nothing of it is taken.
	ErrFormat = errors.New("bank: unreadable input")
	// ErrTooLarge is wrapped by the error of an input beyond MaxBytes or
	// MaxQuestions; nothing of it is taken.
	ErrTooLarge = errors.New("bank: input too large")
)

// Options are used for what an item of the input does not say itself. A
// difficulty that is given nowhere is medium; a language or category that is
// given nowhere makes the item skipped.
type Options struct {
	Lang       string
	Category   string
	Difficulty quiz.Difficulty
	Source     string
	Licence    string
}

// Import is what was read: every item of the input is in Questions or Skipped.
type Import struct {
	Bank      string // the name that the input gives itself, if any
	Questions []quiz.Question
	Lines     []int // where in the input each question begins, from 1
	Skipped   []Skip
}

// Skip is an item that was not taken.
type Skip struct {
	Line   int    // where it begins, from 1
	Item   string // its first characters, on one line
	Reason string // for the author: what is wrong, what to do
}

// String returns "line 12: reason: item".
func (s Skip) String() string {
	return fmt.Sprintf("line %d: %s: %s", s.Line, s.Reason, s.Item)
}

// SkipDuplicates moves the questions that are the same as an existing or an
// earlier one to Skipped, and those that contradict one under its very id. It
// returns the conflicts that stay, with their indexes in Questions.
func (in *Import) SkipDuplicates(existing []quiz.Question) []Duplicate {
	found := Duplicates(existing, in.Questions)
	questions, lines := in.Questions, in.Lines
	in.Questions, in.Lines = nil, nil
	var conflicts []Duplicate
	for i, q := range questions {
		if len(found) == 0 || found[0].Index != i {
			in.Questions, in.Lines = append(in.Questions, q), append(in.Lines, lines[i])
			continue
		}
		twin := found[0]
		found = found[1:]
		switch {
		case !twin.Conflict:
			in.Skipped = append(in.Skipped, Skip{lines[i], excerpt(q.Text), "it is the same question as " + twin.Of})
		case twin.Of == q.ID:
			in.Skipped = append(in.Skipped, Skip{lines[i], excerpt(q.Text), "it contradicts " + twin.Of + ", which is there already"})
		default:
			twin.Index = len(in.Questions)
			conflicts = append(conflicts, twin)
			in.Questions, in.Lines = append(in.Questions, q), append(in.Lines, lines[i])
		}
	}
	return conflicts
}
