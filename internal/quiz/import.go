package quiz

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/language"
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

// importer collects the outcome of an import. The reader of each format uses it.
type importer struct {
	Import
	options    ImportOptions
	lineByID   map[string]int // by question id, the number of its first line
	isTooLarge bool           // the input has more than MaxImportItems; further ones are dropped
}

// addItem adds the question of an item. It skips the item instead if err says why it is no
// question, if the question is invalid or if its id is used.
func (imp *importer) addItem(line int, item string, q Question, err error) {
	if err != nil {
		imp.skipItem(line, item, err.Error())
		return
	}
	imp.applyDefaults(&q)
	if errs := q.ValidationErrors(); len(errs) > 0 {
		imp.skipItem(line, q.Text, strings.Join(errs, "; "))
		return
	}
	if firstLine, exists := imp.lineByID[q.ID]; exists {
		imp.skipItem(line, q.Text, fmt.Sprintf("it has the id of the question on line %d (%s)", firstLine, q.ID))
		return
	}
	if imp.hasRoom() {
		imp.lineByID[q.ID] = line
		imp.Questions, imp.Lines = append(imp.Questions, q), append(imp.Lines, line)
	}
}

// skipItem records an item that is not imported.
func (imp *importer) skipItem(line int, item, reason string) {
	if imp.hasRoom() {
		reason = strings.ReplaceAll(reason, "\n", "; ") // errors.Join separates errors by line ends
		imp.Skipped = append(imp.Skipped, SkippedItem{Line: line, Item: excerpt(item), Reason: reason})
	}
}

// hasRoom returns true if another item may be recorded. Otherwise it sets isTooLarge.
func (imp *importer) hasRoom() bool {
	imp.isTooLarge = imp.isTooLarge || len(imp.Questions)+len(imp.Skipped) >= MaxImportItems
	return !imp.isTooLarge
}

func (imp *importer) applyDefaults(q *Question) {
	o := ImportOptions{q.Lang, q.Category, q.Difficulty, q.Source, q.Licence}.or(imp.options)
	q.Lang, q.Category, q.Difficulty, q.Source, q.Licence = o.Lang, o.Category, cmp.Or(o.Difficulty, Medium), o.Source, o.Licence
	if tag, err := language.Parse(q.Lang); err == nil {
		q.Lang = tag.String()
	}
	if q.ID == "" {
		q.ID = contentID(q)
	}
}

// contentID returns the id of a question without one: "q_" and 80 bits of the
// hash of its language, kind, folded text and folded choices in any order. The
// same question therefore has the same id on every import, even after its
// answer, explanation or category was corrected.
func contentID(q *Question) string {
	parts := append([]string{q.Lang, string(q.Kind), Fold(q.Text)}, foldAll(q.Choices)...)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "q_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// booleanChoices has by language the two choices of boolean questions, for inputs
// that do not name the choices. The first choice means true.
var booleanChoices = map[string][]string{
	"de":      {"Richtig", "Falsch"},
	"en":      {"True", "False"},
	"es":      {"Verdadero", "Falso"},
	"fr":      {"Vrai", "Faux"},
	"it":      {"Vero", "Falso"},
	"ja":      {"正しい", "誤り"},
	"ko":      {"참", "거짓"},
	"pt":      {"Verdadeiro", "Falso"},
	"ru":      {"Верно", "Неверно"},
	"zh":      {"对", "错"},
	"zh-Hant": {"對", "錯"},
}

// booleanChoicesIn returns the choices for true and false in a language. It uses
// English if the language is unknown.
func booleanChoicesIn(lang string) []string {
	tag, err := language.Parse(lang)
	if err != nil {
		tag = language.English
	}
	base, _ := tag.Base()
	key := base.String()
	if script, _ := tag.Script(); key == "zh" && script.String() == "Hant" {
		key = "zh-Hant"
	}
	choices, isKnown := booleanChoices[key]
	if !isKnown {
		choices = booleanChoices["en"]
	}
	return slices.Clone(choices)
}
