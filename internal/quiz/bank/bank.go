package bank

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"laststand/internal/quiz"
)

// Bank is a named set of questions with distinct ids.
type Bank struct {
	Name      string
	Questions []quiz.Question
}

func sortByID(questions []quiz.Question) {
	slices.SortStableFunc(questions, func(a, b quiz.Question) int { return cmp.Compare(a.ID, b.ID) })
}

// BuiltinName is the name of the bank that comes with the server.
const BuiltinName = "builtin"

//go:embed builtin/*.json
var builtin embed.FS

// Builtin reads the bank that comes with the server. Its questions are ordered by
// id. Every call returns a new bank. An error means that the program was built
// with a wrong file: one that is not a bank, or has an invalid question.
func Builtin() (*Bank, error) {
	files, err := fs.Glob(builtin, "builtin/*.json")
	if err != nil {
		return nil, fmt.Errorf("bank: list the built-in files: %w", err)
	}
	bank := &Bank{Name: BuiltinName}
	for _, name := range files {
		content, err := builtin.ReadFile(name)
		if err != nil {
			return nil, err
		}
		imported, err := Read(bytes.NewReader(content), name, FormatJSON, Options{})
		if err == nil && len(imported.Skipped) > 0 {
			err = errors.New(imported.Skipped[0].String())
		}
		if err != nil {
			return nil, fmt.Errorf("bank: %s: %w", name, err)
		}
		bank.Questions = append(bank.Questions, imported.Questions...)
	}
	sortByID(bank.Questions)
	for _, finding := range Check(bank) {
		if finding.Severity == SeverityError {
			return nil, fmt.Errorf("bank: built-in question %s: %s", finding.QuestionID, finding.Text)
		}
	}
	return bank, nil
}
