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
	options Options
	ids     map[string]int // by question id, the number of its first line
}

func newImporter(o Options) *importer {
	return &importer{options: o, ids: make(map[string]int)}
}

// add applies the defaults to a question and adds it. If the question is invalid or
// its id is used, add skips it. The error wraps ErrTooLarge.
func (in *importer) add(line int, q quiz.Question) error {
	in.complete(&q)
	if faults := q.Faults(); len(faults) > 0 {
		return in.skip(line, q.Text, strings.Join(faults, "; "))
	}
	if first, twice := in.ids[q.ID]; twice {
		return in.skip(line, q.Text, fmt.Sprintf("it has the id of the question on line %d (%s)", first, q.ID))
	}
	if err := in.count(); err != nil {
		return err
	}
	in.ids[q.ID] = line
	in.Questions = append(in.Questions, q)
	in.Lines = append(in.Lines, line)
	return nil
}

// skip records an item that is not imported. The error wraps ErrTooLarge.
func (in *importer) skip(line int, item, reason string) error {
	if err := in.count(); err != nil {
		return err
	}
	reason = strings.ReplaceAll(reason, "\n", "; ") // errors.Join separates errors by line ends
	in.Skipped = append(in.Skipped, Skip{Line: line, Item: excerpt(item), Reason: reason})
	return nil
}

func (in *importer) count() error {
	if len(in.Questions)+len(in.Skipped) >= MaxQuestions {
		return fmt.Errorf("%w: over %d questions, split it", ErrTooLarge, MaxQuestions)
	}
	return nil
}

func (in *importer) complete(q *quiz.Question) {
	o := &in.options
	setDefault(&q.Lang, o.Lang)
	setDefault(&q.Category, o.Category)
	setDefault(&q.Difficulty, o.Difficulty)
	setDefault(&q.Difficulty, quiz.Medium)
	setDefault(&q.Source, o.Source)
	setDefault(&q.Licence, o.Licence)
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

// excerpt returns the first 60 characters of a text on one line.
func excerpt(text string) string {
	const limit = 60
	text = text[:min(len(text), 8*limit)]
	runes := []rune(strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "�"))
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit-1]) + "…"
}
