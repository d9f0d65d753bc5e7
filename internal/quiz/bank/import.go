package bank

import (
	"errors"
	"fmt"

	"laststand/internal/quiz"
)

// Limits of one import.
const (
	MaxBytes     = 64 << 20
	MaxQuestions = 200_000 // imported and skipped items
)

var (
	// ErrFormat is wrapped by the error of an input that is unreadable as a
	// whole. Nothing is imported.
	ErrFormat = errors.New("bank: unreadable input")
	// ErrTooLarge is wrapped by the error of an input beyond MaxBytes or
	// MaxQuestions. Nothing is imported.
	ErrTooLarge = errors.New("bank: input too large")
)

// Options are defaults for fields that an item of the input does not have. A
// missing difficulty becomes medium. An item without language or category is
// skipped.
type Options struct {
	Lang       string
	Category   string
	Difficulty quiz.Difficulty
	Source     string
	Licence    string
}

// Import is the outcome of an import: every item of the input is in Questions
// or Skipped.
type Import struct {
	Bank      string // name in the input, if any
	Questions []quiz.Question
	Lines     []int // first line of each question, from 1
	Skipped   []Skip
}

// Skip is an item that was not imported.
type Skip struct {
	Line   int    // first line, from 1
	Item   string // its first characters, on one line
	Reason string // tells the author what is wrong and what to do
}

// String returns "line 12: reason: item".
func (s Skip) String() string {
	return fmt.Sprintf("line %d: %s: %s", s.Line, s.Reason, s.Item)
}

// SkipDuplicates moves duplicates of existing or earlier questions to Skipped.
// It also moves questions that conflict with another question of the same id.
// It returns the remaining conflicts with their indexes in Questions.
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
