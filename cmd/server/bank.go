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
	Import bankImport `cmd:"" help:"Import the questions of a file into a bank."`
	Check  bankCheck  `cmd:"" help:"Check a bank or a file for errors."`
	Export bankExport `cmd:"" help:"Export a bank as JSON."`
}

// Help implements kong's help provider.
func (*bankCmd) Help() string { return "Example: server bank check builtin" }

// questionFlags are the flags that say how to read a file of questions, and the defaults for
// questions that lack a field.
type questionFlags struct {
	Format     string `enum:"auto,json,opentdb,gift,csv" default:"auto" placeholder:"auto" help:"The format: json, opentdb, gift or csv (default: detected)."`
	Lang       string `placeholder:"TAG" help:"The language of questions without one, such as en or zh-CN."`
	Category   string `placeholder:"NAME" help:"The category of questions without one."`
	Difficulty string `enum:"easy,medium,hard" default:"medium" placeholder:"medium" help:"The difficulty of questions without one: easy, medium or hard (default medium)."`
	Source     string `placeholder:"TEXT" help:"The source of questions without one."`
	Licence    string `placeholder:"SPDX" help:"The licence of questions without one, such as CC-BY-4.0."`
}

// stdin is the file name that means standard input.
const stdin = "-"

// read reads the questions of a file, or of standard input.
func (s questionFlags) read(path string) (bank.Import, error) {
	var input io.Reader = os.Stdin
	if path != stdin {
		f, err := os.Open(path)
		if err != nil {
			return bank.Import{}, fmt.Errorf("read the questions: %w", err)
		}
		defer f.Close()
		input = f
	}
	format := bank.Format(s.Format)
	if s.Format == "auto" {
		format = ""
	}
	imported, err := bank.Read(input, path, format, bank.Options{
		Lang: s.Lang, Category: s.Category, Difficulty: quiz.Difficulty(s.Difficulty), Source: s.Source, Licence: s.Licence,
	})
	if err != nil {
		return imported, fmt.Errorf("%s: %w", path, err)
	}
	return imported, nil
}

type bankExport struct {
	Name string `arg:"" help:"The name of the bank."`
	Out  string `placeholder:"FILE" help:"The file to write (default: standard output)."`
}

// Help implements kong's help provider.
func (*bankExport) Help() string {
	return "`server bank import` reads the output, and loses nothing.\n\nExample: server bank export trivia --out trivia.json"
}

// Run writes a bank as JSON that `server bank import` can read.
func (b *bankExport) Run(flags *cli, output commandOutput) error {
	return withLedger(flags, func(ctx context.Context, _ *config, l *ledger.Ledger) (err error) {
		exported, err := loadBank(ctx, l.Banks, b.Name)
		if err != nil {
			return err
		}
		if b.Out == "" {
			return bank.Export(output.stdout, exported)
		}
		f, err := os.Create(b.Out)
		if err != nil {
			return fmt.Errorf("write the bank: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return bank.Export(f, exported)
	})
}

// withLedger loads the configuration and opens the ledger, runs one command with them, and
// closes the ledger. It fails in a folder without a database, which is probably a wrong one.
func withLedger(flags *cli, command func(context.Context, *config, *ledger.Ledger) error) error {
	return openLedger(flags, true, command)
}

// withNewLedger is withLedger, but creates a missing database: banks that the configuration
// names must be imported before the first start.
func withNewLedger(flags *cli, command func(context.Context, *config, *ledger.Ledger) error) error {
	return openLedger(flags, false, command)
}

func openLedger(flags *cli, mustExist bool, command func(context.Context, *config, *ledger.Ledger) error) error {
	c, err := flags.loadWithoutKeys()
	if err != nil {
		return err
	}
	ctx := context.Background()
	ledgerConfig := c.ledgerConfig(discardLog())
	ledgerConfig.MustExist = mustExist
	l, err := ledger.Open(ctx, ledgerConfig)
	if err != nil {
		return err
	}
	return errors.Join(command(ctx, &c, l), l.Close())
}
