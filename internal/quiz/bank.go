package quiz

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Bank is a named set of questions with distinct ids.
type Bank struct {
	Name      string
	Questions []Question
}

func sortByID(questions []Question) {
	slices.SortStableFunc(questions, func(a, b Question) int { return cmp.Compare(a.ID, b.ID) })
}

// BuiltinBankName is the name of the bank that comes with the server.
const BuiltinBankName = "builtin"

//go:embed builtin/*.json
var builtin embed.FS

// BuiltinBank reads the bank that comes with the server. Its questions are ordered by
// id. Every call returns a new bank. An error means that the program was built
// with a wrong file: one that is not a bank, or has an invalid question. A test checks the
// bank as a whole, see CheckBank.
func BuiltinBank() (*Bank, error) {
	files, _ := fs.Glob(builtin, "builtin/*.json") // the pattern is valid
	bank := &Bank{Name: BuiltinBankName}
	for _, name := range files {
		content, err := builtin.ReadFile(name)
		if err != nil {
			return nil, err
		}
		imported, err := ReadBank(bytes.NewReader(content), name, FormatJSON, ImportOptions{})
		if err == nil && len(imported.Skipped) > 0 {
			err = errors.New(imported.Skipped[0].String())
		}
		if err != nil {
			return nil, fmt.Errorf("bank: %s: %w", name, err)
		}
		bank.Questions = append(bank.Questions, imported.Questions...)
	}
	sortByID(bank.Questions)
	return bank, nil
}

// The severities of a BankFinding. A question with an error must not be asked.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// BankFinding is one problem in a bank.
type BankFinding struct {
	QuestionID string `json:"question"`
	Severity   string `json:"severity"`
	Text       string `json:"text"`
}

// CheckBank returns all problems of a bank, in the order of its questions. Errors are
// invalid questions, repeated ids and repeated questions. Warnings are missing
// optional fields, and equal texts with different answers.
func CheckBank(bank *Bank) []BankFinding {
	var findings []BankFinding
	add := func(q *Question, severity string, texts ...string) {
		for _, text := range texts {
			findings = append(findings, BankFinding{q.ID, severity, text})
		}
	}
	ids := make(map[string]struct{}, len(bank.Questions))
	texts := make(textIndex)
	for i := range bank.Questions {
		q := &bank.Questions[i]
		add(q, SeverityError, q.ValidationErrors()...)
		add(q, SeverityWarning, q.Warnings()...)
		if _, exists := ids[q.ID]; exists {
			add(q, SeverityError, "an earlier question has the same id")
		}
		ids[q.ID] = struct{}{}
		if earlierID, isConflict := texts.find(q); isConflict {
			add(q, SeverityWarning, fmt.Sprintf("%s has the same text with another answer", earlierID))
		} else if earlierID != "" {
			add(q, SeverityError, fmt.Sprintf("it is the same question as %s", earlierID))
		}
		texts.add(q)
	}
	return findings
}

type textIndex map[string][]indexEntry

type indexEntry struct {
	id      string
	answers []string // as answerKeys returns them
}

func (t textIndex) add(q *Question) {
	key := textKey(q)
	t[key] = append(t[key], indexEntry{q.ID, answerKeys(q)})
}

// find returns the id of an earlier question with the same language and text, or "". It
// prefers a question with the same answer. If there is only one with another answer,
// isConflict is true. The questions of a conflict may both be correct ("Which of these is
// a prime?"), so a person must review it.
func (t textIndex) find(q *Question) (earlierID string, isConflict bool) {
	answers := answerKeys(q)
	for _, entry := range t[textKey(q)] {
		if slices.ContainsFunc(answers, func(answer string) bool { return slices.Contains(entry.answers, answer) }) {
			return entry.id, false
		}
		if !isConflict {
			earlierID, isConflict = entry.id, true
		}
	}
	return earlierID, isConflict
}

func textKey(q *Question) string {
	return strings.ToLower(q.Lang) + "\n" + Fold(q.Text)
}

// answerKeys returns folded texts, each of which is a complete right answer. Two
// questions of different kinds can have the same key: "1969" may be a choice in
// one question and a number in another.
func answerKeys(q *Question) []string {
	switch {
	case q.Kind == Number && q.Target != nil:
		return []string{strconv.FormatFloat(q.Target.Value, 'f', -1, 64)}
	case q.Kind == Text:
		return foldAll(q.Accepted)
	}
	var right []string
	for _, i := range q.RightIndexes {
		if i >= 0 && i < len(q.Choices) {
			right = append(right, q.Choices[i])
		}
	}
	return []string{strings.Join(foldAll(right), "\n")}
}

// foldAll returns the texts folded and sorted.
func foldAll(texts []string) []string {
	folded := make([]string, len(texts))
	for i, text := range texts {
		folded[i] = Fold(text)
	}
	slices.Sort(folded)
	return folded
}
