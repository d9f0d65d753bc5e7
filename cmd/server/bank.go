package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"laststand/internal/ledger"
	"laststand/internal/quiz"
	"laststand/internal/quiz/bank"
)

type bankCmd struct {
	Import bankImport `cmd:"" help:"Take the questions of a file into a bank."`
	Check  bankCheck  `cmd:"" help:"Find faults in a bank or a file."`
	Export bankExport `cmd:"" help:"Write a bank as JSON."`
}

// Help implements kong's help provider.
func (*bankCmd) Help() string { return "Example: server bank check builtin" }

// source is a file of questions, and what holds for those that do not say.
type source struct {
	Format     string `enum:"auto,json,opentdb,gift,csv" default:"auto" placeholder:"auto" help:"json, opentdb, gift or csv; auto finds out from the file."`
	Lang       string `placeholder:"TAG" help:"Language of questions that do not say, as en or zh-CN."`
	Category   string `placeholder:"NAME" help:"Category of questions that do not say."`
	Difficulty string `enum:"easy,medium,hard" default:"medium" placeholder:"medium" help:"easy, medium or hard, for questions that do not say."`
	Source     string `placeholder:"TEXT" help:"Where questions come from that do not say."`
	Licence    string `placeholder:"SPDX" help:"Licence of questions that do not say, as CC-BY-4.0."`
}

// stdin stands for standard input in place of a file.
const stdin = "-"

func (s source) read(path string) (bank.Import, error) {
	var from io.Reader = os.Stdin
	if path != stdin {
		f, err := os.Open(path)
		if err != nil {
			return bank.Import{}, fmt.Errorf("the file of questions cannot be read: %w", err)
		}
		defer f.Close()
		from = f
	}
	format := bank.Format(s.Format)
	if s.Format == "auto" {
		format = ""
	}
	in, err := bank.Read(from, path, format, bank.Options{
		Lang: s.Lang, Category: s.Category, Difficulty: quiz.Difficulty(s.Difficulty), Source: s.Source, Licence: s.Licence,
	})
	if err != nil {
		return in, fmt.Errorf("%s: %w", path, err)
	}
	return in, nil
}

type bankExport struct {
	Name string `arg:"" help:"The bank's name."`
	Out  string `placeholder:"FILE" help:"The file to write (default: standard output)."`
}

// Help implements kong's help provider.
func (*bankExport) Help() string {
	return "Writes what import reads, with nothing lost.\n\nExample: server bank export trivia --out trivia.json"
}

// Run writes a bank in the form that import reads.
func (b *bankExport) Run(flags *cli, to console) error {
	return withLedger(flags, func(ctx context.Context, _ *config, l *ledger.Ledger) (err error) {
		exported, err := loadBank(ctx, l, b.Name)
		if err != nil {
			return err
		}
		if b.Out == "" {
			return bank.Export(to.out, exported)
		}
		f, err := os.Create(b.Out)
		if err != nil {
			return fmt.Errorf("the bank cannot be written: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return bank.Export(f, exported)
	})
}

// withLedger opens the configured ledger for one command.
func withLedger(flags *cli, f func(context.Context, *config, *ledger.Ledger) error) error {
	c, err := flags.loadWithoutKeys()
	if err != nil {
		return err
	}
	ctx := context.Background()
	l, err := ledger.Open(ctx, c.ledgerConfig(quiet()))
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, &c, l), l.Close())
}
