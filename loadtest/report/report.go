// Package report records what a load program measures, and writes it as text.
//
// A Recorder collects durations and counts while the program runs. A Report names the machine
// and has tables, lines of text and the reasons why the run failed. A row of a Table holds the
// figures of one or more runs of the same thing; the text shows their medians.
package report

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Report is the result of a load program.
type Report struct {
	Failures []string // why the run failed; none: it passed

	program string // with its settings
	machine string
	tables  []*Table
	lines   []string // results that fit no table
}

// New starts a report of a program with some settings.
func New(program string) *Report { return &Report{program: program, machine: machine()} }

// machine describes this machine and the load on it.
func machine() string {
	load, _ := os.ReadFile("/proc/loadavg") // empty if the file cannot be read
	if fields := strings.Fields(string(load)); len(fields) > 2 {
		load = []byte(strings.Join(fields[:3], " "))
	}
	return fmt.Sprintf("%d cores, %s, %s, load average %s; clients, servers and stores share it", runtime.NumCPU(), runtime.GOARCH, runtime.Version(), load)
}

// Table adds a table with these columns.
func (r *Report) Table(name string, columns ...Column) *Table {
	t := &Table{name: name, columns: columns}
	r.tables = append(r.tables, t)
	return t
}

// Line adds a line of text.
func (r *Report) Line(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// Fail adds a reason why the run failed.
func (r *Report) Fail(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

// String formats the report for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nmachine: %s\n", r.program, r.machine)
	for _, t := range r.tables {
		if len(t.rows) > 0 {
			fmt.Fprintf(&b, "\n%s", t)
		}
	}
	if len(r.lines) > 0 {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(r.lines, "\n"))
	}
	for _, reason := range r.Failures {
		fmt.Fprintf(&b, "FAILED: %s\n", reason)
	}
	return b.String()
}

// Publish prints the report. It returns an error if the report has failures.
func (r *Report) Publish() error {
	fmt.Print(r)
	if len(r.Failures) > 0 {
		return errors.New("the run failed")
	}
	return nil
}
