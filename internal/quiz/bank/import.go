package bank

import (
	"errors"
	"fmt"

	"laststand/internal/quiz"
)

// Limits of one import.
const (
	MaxBytes     = 64 << 20
	MaxQuestions = 200_000 // imported and skipped ones together
)

var (
	// ErrFormat means that the whole input is unreadable. Nothing is imported.
	ErrFormat = errors.New("bank: unreadable input")
	// ErrTooLarge means that the input is larger than MaxImportBytes or has more
	// than MaxImportItems. Nothing is imported.
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

// Import is the outcome of an import. Every item of the input is either in
// Questions or in Skipped.
type Import struct {
	Bank      string // name of the bank in the input; "": none
	Questions []quiz.Question
	Lines     []int // for each of Questions, the number of its first line in the input, from 1
	Skipped   []Skip
}

// Skip is an item that was not imported.
type Skip struct {
	Line   int    // first line, from 1
	Item   string // first characters of the item, on one line
	Reason string // what is wrong and what to do, for the author
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
			in.Skipped = append(in.Skipped, Skip{lines[i], excerpt(q.Text), "it has another answer than " + twin.Of + ", which exists already"})
		default:
			twin.Index = len(in.Questions)
			conflicts = append(conflicts, twin)
			in.Questions, in.Lines = append(in.Questions, q), append(in.Lines, lines[i])
		}
	}
	return conflicts
}
