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
	source
	Name string `arg:"" help:"The name of a bank, or a file; - means standard input."`
}

// Help implements kong's help provider.
func (*bankCheck) Help() string {
	return "The command exits with 1 if it finds an error. Warnings do not count.\n\nExample: server bank check --lang en questions.gift"
}

// Run checks a file if there is one with this name, else the bank with this name. It fails if
// there are errors.
func (b *bankCheck) Run(flags *cli, to console) error {
	if _, err := os.Stat(b.Name); err == nil || b.Name == stdin {
		return b.file(to)
	}
	return withLedger(flags, func(ctx context.Context, _ *config, l *ledger.Ledger) error {
		checked, err := loadBank(ctx, l, b.Name)
		if err != nil {
			return err
		}
		return report(checked, 0, to)
	})
}

// checkFile checks a file of questions. A question that cannot be read is an error.
func (b *bankCheck) file(to console) error {
	in, err := b.read(b.Name)
	if err != nil {
		return err
	}
	for _, s := range in.Skipped {
		fmt.Fprintln(to.out, "error:", s)
	}
	return report(&bank.Bank{Name: b.Name, Questions: in.Questions}, len(in.Skipped), to)
}

// printBankReport prints the errors and warnings of a bank. errorCount is the number of errors
// that are printed already. It fails if there are errors.
func report(b *bank.Bank, errs int, to console) error {
	warnings := 0
	for _, f := range bank.Check(b) {
		fmt.Fprintf(to.out, "%s: %s: %s\n", f.Severity, f.QuestionID, f.Text)
		if f.Severity == bank.SeverityError {
			errs++
		} else {
			warnings++
		}
	}
	fmt.Fprintf(to.out, "%s: %d questions, %d errors, %d warnings\n", b.Name, len(b.Questions), errs, warnings)
	if errs > 0 {
		return errors.New("the bank has errors; fix them in the file and import it again")
	}
	return nil
}
