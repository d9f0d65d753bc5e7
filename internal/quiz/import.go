package quiz

import (
	"cmp"
	"errors"
	"fmt"
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

// ImportOptions are defaults for fields that an item of the input does not have. A
// missing difficulty becomes medium. An item without language or category is
// skipped.
type ImportOptions struct {
	Lang       string     `json:"lang,omitempty"`
	Category   string     `json:"category,omitempty"`
	Difficulty Difficulty `json:"difficulty,omitempty"`
	Source     string     `json:"source,omitempty"`
	Licence    string     `json:"licence,omitempty"`
}

// or returns the options with the fields of other for the empty ones.
func (o ImportOptions) or(other ImportOptions) ImportOptions {
	return ImportOptions{
		Lang: cmp.Or(o.Lang, other.Lang), Category: cmp.Or(o.Category, other.Category), Difficulty: cmp.Or(o.Difficulty, other.Difficulty),
		Source: cmp.Or(o.Source, other.Source), Licence: cmp.Or(o.Licence, other.Licence),
	}
}

// Import is the outcome of an import. Every item of the input is either in
// Questions or in Skipped.
type Import struct {
	BankName  string // name of the bank in the input; "": none
	Questions []Question
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

// Conflict is an imported question with the same text as an earlier one, and another
// answer: one of the two may be wrong.
type Conflict struct {
	Index     int // in Import.Questions
	EarlierID string
}

// SkipDuplicates compares the imported questions with existing ones and with each other. It
// moves a question to Skipped if an earlier one has the same language, folded text and
// answer. It also moves a question that conflicts with another of the same id. It returns
// the other conflicts.
func (imp *Import) SkipDuplicates(existing []Question) (conflicts []Conflict) {
	known := make(textIndex, len(existing)+len(imp.Questions))
	for i := range existing {
		known.add(&existing[i])
	}
	questions, lines := imp.Questions, imp.Lines
	imp.Questions, imp.Lines = nil, nil
	for i := range questions {
		q := &questions[i]
		earlierID, isConflict := known.find(q)
		known.add(q)
		reason := ""
		switch {
		case earlierID != "" && !isConflict:
			reason = "it is the same question as " + earlierID
		case isConflict && earlierID == q.ID:
			reason = "it has another answer than " + earlierID + ", which exists already"
		case isConflict:
			conflicts = append(conflicts, Conflict{len(imp.Questions), earlierID})
		}
		if reason != "" {
			imp.Skipped = append(imp.Skipped, SkippedItem{lines[i], excerpt(q.Text), reason})
			continue
		}
		imp.Questions, imp.Lines = append(imp.Questions, *q), append(imp.Lines, lines[i])
	}
	return conflicts
}
