package bank

import (
	"fmt"
	"strings"

	"golang.org/x/text/language"

	"laststand/internal/quiz"
)

// importer collects the outcome of an import. The reader of each format uses it.
type importer struct {
	Import
	options  Options
	lineByID map[string]int // by question id, the number of its first line
}

// addItem adds a question, or skips the item if err says why it is none. The error wraps
// ErrTooLarge.
func (imp *importer) addItem(line int, item string, question quiz.Question, err error) error {
	if err != nil {
		return imp.skipItem(line, item, err.Error())
	}
	return imp.addQuestion(line, question)
}

// addQuestion applies the defaults to a question and adds it. If the question is invalid or
// its id is used, it is skipped instead. The error wraps ErrTooLarge.
func (imp *importer) addQuestion(line int, q quiz.Question) error {
	imp.applyDefaults(&q)
	if errs := q.ValidationErrors(); len(errs) > 0 {
		return imp.skipItem(line, q.Text, strings.Join(errs, "; "))
	}
	if firstLine, exists := imp.lineByID[q.ID]; exists {
		return imp.skipItem(line, q.Text, fmt.Sprintf("it has the id of the question on line %d (%s)", firstLine, q.ID))
	}
	if err := imp.checkLimit(); err != nil {
		return err
	}
	imp.lineByID[q.ID] = line
	imp.Questions = append(imp.Questions, q)
	imp.Lines = append(imp.Lines, line)
	return nil
}

// skipItem records an item that is not imported. The error wraps ErrTooLarge.
func (imp *importer) skipItem(line int, item, reason string) error {
	if err := imp.checkLimit(); err != nil {
		return err
	}
	reason = strings.ReplaceAll(reason, "\n", "; ") // errors.Join separates errors by line ends
	imp.Skipped = append(imp.Skipped, SkippedItem{Line: line, Item: excerpt(item), Reason: reason})
	return nil
}

func (imp *importer) checkLimit() error {
	if len(imp.Questions)+len(imp.Skipped) >= MaxImportItems {
		return fmt.Errorf("%w: over %d questions, split it", ErrTooLarge, MaxImportItems)
	}
	return nil
}

func (imp *importer) applyDefaults(q *quiz.Question) {
	options := &imp.options
	setDefault(&q.Lang, options.Lang)
	setDefault(&q.Category, options.Category)
	setDefault(&q.Difficulty, options.Difficulty)
	setDefault(&q.Difficulty, quiz.Medium)
	setDefault(&q.Source, options.Source)
	setDefault(&q.Licence, options.Licence)
	if tag, err := language.Parse(q.Lang); err == nil {
		q.Lang = tag.String()
	}
	if q.ID == "" {
		q.ID = contentID(q)
	}
}

func setDefault[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}
