package quiz

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
// with a wrong file: one that is not a bank, or has an invalid question.
func BuiltinBank() (*Bank, error) {
	files, err := fs.Glob(builtin, "builtin/*.json")
	if err != nil {
		return nil, fmt.Errorf("bank: list the built-in files: %w", err)
	}
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
	for _, finding := range CheckBank(bank) {
		if finding.Severity == SeverityError {
			return nil, fmt.Errorf("bank: built-in question %s: %s", finding.QuestionID, finding.Text)
		}
	}
	return bank, nil
}
