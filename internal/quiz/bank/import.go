package bank

import (
	"errors"
	"fmt"

	"laststand/internal/quiz"
)

// Limits of one import.
const (
	MaxImportBytes = 64 << 20
	MaxImportItems = 200_000 // imported and skipped ones together
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
	Lang       string          `json:"lang,omitempty"`
	Category   string          `json:"category,omitempty"`
	Difficulty quiz.Difficulty `json:"difficulty,omitempty"`
	Source     string          `json:"source,omitempty"`
	Licence    string          `json:"licence,omitempty"`
}

// Import is the outcome of an import. Every item of the input is either in
// Questions or in Skipped.
type Import struct {
	BankName  string // name of the bank in the input; "": none
	Questions []quiz.Question
	Lines     []int // for each of Questions, the number of its first line in the input, from 1
	Skipped   []SkippedItem
}

// SkippedItem is an item that was not imported.
type SkippedItem struct {
	Line   int    // first line, from 1
	Item   string // first characters of the item, on one line
	Reason string // what is wrong and what to do, for the author
}

// String returns "line 12: reason: item".
func (s SkippedItem) String() string {
	return fmt.Sprintf("line %d: %s: %s", s.Line, s.Reason, s.Item)
}

// SkipDuplicates moves duplicates of existing or earlier questions to Skipped.
// It also moves questions that conflict with another question of the same id.
// It returns the remaining conflicts with their indexes in Questions.
func (imp *Import) SkipDuplicates(existing []quiz.Question) []Duplicate {
	found := Duplicates(existing, imp.Questions)
	questions, lines := imp.Questions, imp.Lines
	imp.Questions, imp.Lines = nil, nil
	var conflicts []Duplicate
	for i, q := range questions {
		if len(found) == 0 || found[0].Index != i {
			imp.Questions, imp.Lines = append(imp.Questions, q), append(imp.Lines, lines[i])
			continue
		}
		duplicate := found[0]
		found = found[1:]
		switch {
		case !duplicate.Conflict:
			imp.Skipped = append(imp.Skipped, SkippedItem{lines[i], excerpt(q.Text), "it is the same question as " + duplicate.EarlierID})
		case duplicate.EarlierID == q.ID:
			imp.Skipped = append(imp.Skipped, SkippedItem{lines[i], excerpt(q.Text), "it has another answer than " + duplicate.EarlierID + ", which exists already"})
		default:
			duplicate.Index = len(imp.Questions)
			conflicts = append(conflicts, duplicate)
			imp.Questions, imp.Lines = append(imp.Questions, q), append(imp.Lines, lines[i])
		}
	}
	return conflicts
}
