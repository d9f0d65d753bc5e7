// Command tally reads what `go test -json` prints and shows what a person wants
// to see of it: a line for each package, all output of what failed, and at the
// end the slowest tests and what was skipped. The counts go to the file that is its argument, as
// "passed failed skipped".
//
// Counted are the leaves: a test with subtests counts by these. A parent that
// fails by itself, a test cut short and a package that does not build or ends
// badly count as failed too, so that nothing failed means that all is well.
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
