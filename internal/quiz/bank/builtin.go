package bank

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"laststand/internal/quiz"
)

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
		questions, err := readBuiltin(name)
		if err != nil {
			return nil, fmt.Errorf("bank: %s: %w", name, err)
		}
		bank.Questions = append(bank.Questions, questions...)
	}
	sortByID(bank.Questions)
	if first := firstError(Check(bank)); first != nil {
		return nil, fmt.Errorf("bank: built-in question %s: %s", first.QuestionID, first.Text)
	}
	return bank, nil
}

func readBuiltin(name string) ([]quiz.Question, error) {
	file, err := builtin.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	imported, err := Read(file, name, FormatJSON, Options{})
	if err != nil {
		return nil, err
	}
	var skipErrs []error
	for _, skipped := range imported.Skipped {
		skipErrs = append(skipErrs, errors.New(skipped.String()))
	}
	return imported.Questions, errors.Join(skipErrs...)
}

func firstError(findings []Finding) *Finding {
	for i := range findings {
		if findings[i].Severity == SeverityError {
			return &findings[i]
		}
	}
	return nil
}
