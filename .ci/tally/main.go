// Command tally reads the output of `go test -json` and prints a summary: one line
// per package, the full output of failed tests, the slowest tests and the skipped
// tests. It writes the counts to the file that is its argument, as
// "passed failed skipped".
//
// It counts leaf tests only: of a test with subtests it counts the subtests. It also
// counts these as failed: a parent that fails by itself, a test that was cut short,
// and a package that does not build or exits with an error. If none failed, the
// whole run passed.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("give the file for the counts: go test -json ./... | tally FILE")
	}
	screen := bufio.NewWriter(out)
	counts, err := tally(in, screen)
	if err := errors.Join(err, screen.Flush()); err != nil {
		return err
	}
	line := fmt.Sprintf("%d %d %d\n", counts.passed, counts.failed, counts.skipped)
	return os.WriteFile(args[0], []byte(line), 0o644)
}
