package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"laststand/internal/config"
	"laststand/internal/ledger"
	"laststand/internal/quiz"
)

type bankCmd struct {
	Import bankImport `cmd:"" help:"Import the questions of a file into a bank."`
	Check  bankCheck  `cmd:"" help:"Check a bank or a file for errors."`
	Export bankExport `cmd:"" help:"Export a bank as JSON."`
}

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

func (s questionFlags) read(path string) (quiz.Import, error) {
	var input io.Reader = os.Stdin
	if path != stdio {
		f, err := os.Open(path)
		if err != nil {
			return quiz.Import{}, fmt.Errorf("read the questions: %w", err)
		}
		defer f.Close()
		input = f
	}
	format := quiz.BankFormat(s.Format)
	if s.Format == "auto" {
		format = ""
	}
	imported, err := quiz.ReadBank(input, path, format, quiz.ImportOptions{
		Lang: s.Lang, Category: s.Category, Difficulty: quiz.Difficulty(s.Difficulty), Source: s.Source, Licence: s.Licence,
	})
	if err != nil {
		return imported, fmt.Errorf("%s: %w", path, err)
	}
	return imported, nil
}

type bankImport struct {
	questionFlags
	Bank   string `required:"" placeholder:"NAME" help:"The name of the bank; the command creates it if it does not exist."`
	DryRun bool   `name:"dry-run" help:"Print what the import would do, without importing."`
	File   string `arg:"" help:"The file; - means standard input."`
}

// bankName matches the valid names of question banks.
var bankName = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// Run imports the questions of a file. It lists the skipped questions with line and reason. It
// creates a missing database: banks that the configuration names must be imported before the
// first start.
func (b *bankImport) Run(ctx context.Context, flags *Flags, output Output) error {
	if b.Bank == quiz.BuiltinBankName || !bankName.MatchString(b.Bank) {
		return fmt.Errorf("--bank %q is not a valid name; use 1 to 64 of A-Z a-z 0-9 _ . : - and not builtin", b.Bank)
	}
	imported, err := b.read(b.File)
	if err != nil {
		return err
	}
	return flags.openLedger(false, func(_ *config.Config, l *ledger.Ledger) error {
		existing, err := l.Banks.LoadBank(ctx, b.Bank)
		if err != nil && !errors.Is(err, quiz.ErrNoBank) {
			return err
		}
		for _, d := range imported.SkipDuplicates(existing) {
			fmt.Fprintf(output.Stdout, "conflict: %s has the same text as %s but another answer; check both questions\n", imported.Questions[d.Index].ID, d.EarlierID)
		}
		for _, s := range imported.Skipped {
			fmt.Fprintln(output.Stdout, "skipped:", s)
		}
		return b.save(ctx, l.Banks, imported, output)
	})
}

// save stores the questions unless this is a dry run, and prints their number.
func (b *bankImport) save(ctx context.Context, l *ledger.QuestionBanks, content quiz.Import, output Output) error {
	imported, skipped := len(content.Questions), len(content.Skipped)
	if b.DryRun {
		fmt.Fprintf(output.Stdout, "dry run: %d questions would be imported into bank %s, %d skipped\n", imported, b.Bank, skipped)
		return nil
	}
	if imported > 0 {
		if err := l.SaveBank(ctx, b.Bank, content.Questions); err != nil {
			return err
		}
	}
	fmt.Fprintf(output.Stdout, "%d questions imported into bank %s, %d skipped\n", imported, b.Bank, skipped)
	return nil
}

type bankCheck struct {
	questionFlags
	Name string `arg:"" help:"The name of a bank, or a file; - means standard input."`
}

// Run checks a file if there is one with this name, else the bank with this name. It fails if
// there are errors. A question of a file that cannot be read is an error.
func (b *bankCheck) Run(ctx context.Context, flags *Flags, output Output) error {
	if _, err := os.Stat(b.Name); err == nil || b.Name == stdio {
		imported, err := b.read(b.Name)
		if err != nil {
			return err
		}
		for _, s := range imported.Skipped {
			fmt.Fprintln(output.Stdout, "error:", s)
		}
		return printBankReport(&quiz.Bank{Name: b.Name, Questions: imported.Questions}, len(imported.Skipped), output)
	}
	return flags.withLedger(func(_ *config.Config, l *ledger.Ledger) error {
		checked, err := quiz.LoadBank(ctx, l.Banks, b.Name)
		if err != nil {
			return err
		}
		return printBankReport(checked, 0, output)
	})
}

// printBankReport prints the errors and warnings of a bank. errorCount is the number of errors
// that are printed already. It fails if there are errors.
func printBankReport(b *quiz.Bank, errorCount int, output Output) error {
	warningCount := 0
	for _, finding := range quiz.CheckBank(b) {
		fmt.Fprintf(output.Stdout, "%s: %s: %s\n", finding.Severity, finding.QuestionID, finding.Text)
		if finding.Severity == quiz.SeverityError {
			errorCount++
		} else {
			warningCount++
		}
	}
	fmt.Fprintf(output.Stdout, "%s: %d questions, %d errors, %d warnings\n", b.Name, len(b.Questions), errorCount, warningCount)
	if errorCount > 0 {
		return errors.New("the bank has errors; fix them in the file and import it again")
	}
	return nil
}

type bankExport struct {
	Name string `arg:"" help:"The name of the bank."`
	Out  string `placeholder:"FILE" help:"The file to write (default: standard output)."`
}

func (b *bankExport) Run(ctx context.Context, flags *Flags, output Output) error {
	return flags.withLedger(func(_ *config.Config, l *ledger.Ledger) (err error) {
		exported, err := quiz.LoadBank(ctx, l.Banks, b.Name)
		if err != nil {
			return err
		}
		if b.Out == "" {
			return quiz.ExportBank(output.Stdout, exported)
		}
		f, err := os.Create(b.Out)
		if err != nil {
			return fmt.Errorf("write the bank: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return quiz.ExportBank(f, exported)
	})
}
