package main

import (
	"context"
	"errors"
	"fmt"

	"laststand/internal/ledger"
	"laststand/internal/quiz/bank"
)

type bankImport struct {
	questionFlags
	Bank   string `required:"" placeholder:"NAME" help:"The name of the bank; the command creates it if it does not exist."`
	DryRun bool   `name:"dry-run" help:"Print what the import would do, without importing."`
	File   string `arg:"" help:"The file; - means standard input."`
}

// Help implements kong's help provider.
func (*bankImport) Help() string {
	return "The command lists skipped questions with line and reason. A running server uses new questions within seconds.\n\n" +
		"Example: server bank import --bank trivia --lang en questions.gift"
}

// Run imports the questions of a file. It lists the skipped questions with line and reason.
func (b *bankImport) Run(flags *cli, output commandOutput) error {
	if b.Bank == bank.BuiltinName || !bankName.MatchString(b.Bank) {
		return fmt.Errorf("--bank %q is not a valid name; use 1 to 64 of A-Z a-z 0-9 _ . : - and not builtin", b.Bank)
	}
	imported, err := b.read(b.File)
	if err != nil {
		return err
	}
	return withNewLedger(flags, func(ctx context.Context, _ *config, l *ledger.Ledger) error {
		existing, err := l.Banks.LoadBank(ctx, b.Bank)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		for _, d := range imported.SkipDuplicates(existing) {
			fmt.Fprintf(output.stdout, "conflict: %s has the same text as %s but another answer; check both questions\n", imported.Questions[d.Index].ID, d.EarlierID)
		}
		for _, s := range imported.Skipped {
			fmt.Fprintln(output.stdout, "skipped:", s)
		}
		return b.save(ctx, l.Banks, imported, output)
	})
}

// save stores the questions unless this is a dry run, and prints their number.
func (b *bankImport) save(ctx context.Context, l *ledger.QuestionBanks, content bank.Import, output commandOutput) error {
	imported, skipped := len(content.Questions), len(content.Skipped)
	if b.DryRun {
		fmt.Fprintf(output.stdout, "dry run: %d questions would be imported into bank %s, %d skipped\n", imported, b.Bank, skipped)
		return nil
	}
	if imported > 0 {
		if err := l.SaveBank(ctx, b.Bank, content.Questions); err != nil {
			return err
		}
	}
	fmt.Fprintf(output.stdout, "%d questions imported into bank %s, %d skipped\n", imported, b.Bank, skipped)
	return nil
}
