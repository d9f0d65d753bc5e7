package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"laststand/internal/ledger"
	"laststand/internal/quiz/bank"
)

type bankCheck struct {
	questionFlags
	Name string `arg:"" help:"The name of a bank, or a file; - means standard input."`
}

// Help implements kong's help provider.
func (*bankCheck) Help() string {
	return "The command exits with 1 if it finds an error. Warnings do not count.\n\nExample: server bank check --lang en questions.gift"
}

// Run checks a file if there is one with this name, else the bank with this name. It fails if
// there are errors.
func (b *bankCheck) Run(flags *cli, output commandOutput) error {
	if _, err := os.Stat(b.Name); err == nil || b.Name == stdin {
		return b.checkFile(output)
	}
	return withLedger(flags, func(ctx context.Context, _ *config, l *ledger.Ledger) error {
		checked, err := loadBank(ctx, l.Banks, b.Name)
		if err != nil {
			return err
		}
		return printBankReport(checked, 0, output)
	})
}

// checkFile checks a file of questions. A question that cannot be read is an error.
func (b *bankCheck) checkFile(output commandOutput) error {
	imported, err := b.read(b.Name)
	if err != nil {
		return err
	}
	for _, s := range imported.Skipped {
		fmt.Fprintln(output.stdout, "error:", s)
	}
	return printBankReport(&bank.Bank{Name: b.Name, Questions: imported.Questions}, len(imported.Skipped), output)
}

// printBankReport prints the errors and warnings of a bank. errorCount is the number of errors
// that are printed already. It fails if there are errors.
func printBankReport(b *bank.Bank, errorCount int, output commandOutput) error {
	warningCount := 0
	for _, finding := range bank.Check(b) {
		fmt.Fprintf(output.stdout, "%s: %s: %s\n", finding.Severity, finding.QuestionID, finding.Text)
		if finding.Severity == bank.SeverityError {
			errorCount++
		} else {
			warningCount++
		}
	}
	fmt.Fprintf(output.stdout, "%s: %d questions, %d errors, %d warnings\n", b.Name, len(b.Questions), errorCount, warningCount)
	if errorCount > 0 {
		return errors.New("the bank has errors; fix them in the file and import it again")
	}
	return nil
}
