package main

import (
	"context"
	"errors"
	"fmt"

	"laststand/internal/ledger"
	"laststand/internal/quiz/bank"
)

type bankImport struct {
	source
	Bank   string `required:"" placeholder:"NAME" help:"The bank's name; made if there is none."`
	DryRun bool   `name:"dry-run" help:"Say what would be taken, take nothing."`
	File   string `arg:"" help:"The file; - for standard input."`
}

// Help implements kong's help provider.
func (*bankImport) Help() string {
	return "Lists what it cannot take with line and reason. A running server asks new questions within seconds.\n\n" +
		"Example: server bank import --bank trivia --lang en questions.gift"
}

// Run takes what can be taken, and lists the rest with line and reason.
func (b *bankImport) Run(flags *cli, to console) error {
	if b.Bank == bank.BuiltinName || !bankName.MatchString(b.Bank) {
		return fmt.Errorf("--bank %q: a name of 1 to 64 of A-Z a-z 0-9 _ . : - other than builtin", b.Bank)
	}
	in, err := b.read(b.File)
	if err != nil {
		return err
	}
	return withLedger(flags, func(ctx context.Context, _ *config, l *ledger.Ledger) error {
		existing, err := l.LoadBank(ctx, b.Bank)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		for _, d := range in.SkipDuplicates(existing) {
			fmt.Fprintf(to.out, "conflict: %s has the text of %s and another answer; check both\n", in.Questions[d.Index].ID, d.Of)
		}
		for _, s := range in.Skipped {
			fmt.Fprintln(to.out, "skipped:", s)
		}
		return b.take(ctx, l, in, to)
	})
}

func (b *bankImport) take(ctx context.Context, l *ledger.Ledger, in bank.Import, to console) error {
	taken, skipped := len(in.Questions), len(in.Skipped)
	if b.DryRun {
		fmt.Fprintf(to.out, "dry run: %d questions would be taken into bank %s, %d skipped\n", taken, b.Bank, skipped)
		return nil
	}
	if taken > 0 {
		if err := l.SaveBank(ctx, b.Bank, in.Questions); err != nil {
			return err
		}
	}
	fmt.Fprintf(to.out, "%d questions taken into bank %s, %d skipped\n", taken, b.Bank, skipped)
	return nil
}
