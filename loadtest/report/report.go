// Package report records what a load program measures, and writes it as text for people and
// as JSON.
//
// A Recorder collects durations and counts while the program runs. A Report names the machine
// and has tables, lines of text and the reasons why the run failed. A row of a Table holds the
// figures of one or more runs of the same thing; the text shows their medians.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Report is the result of a load program.
type Report struct {
	Program  string    `json:"program"` // with its settings
	Machine  string    `json:"machine"`
	At       time.Time `json:"at"`
	Tables   []*Table  `json:"tables"`
	Lines    []string  `json:"lines,omitempty"`    // results that fit no table
	Failures []string  `json:"failures,omitempty"` // why the run failed; none: it passed
}

// New starts a report of a program with some settings.
func New(program string) *Report {
	return &Report{Program: program, Machine: machine(), At: time.Now()}
}

// machine describes this machine and the load on it.
func machine() string {
	load, _ := os.ReadFile("/proc/loadavg") // empty if the file cannot be read
	if fields := strings.Fields(string(load)); len(fields) > 2 {
		load = []byte(strings.Join(fields[:3], " "))
	}
	return fmt.Sprintf("%d cores, %s, %s, load average %s; clients, servers and stores share it", runtime.NumCPU(), runtime.GOARCH, runtime.Version(), load)
}

// Table adds a table whose rows have the given columns.
func (r *Report) Table(name string, columns ...Column) *Table {
	t := &Table{Name: name, Columns: columns}
	r.Tables = append(r.Tables, t)
	return t
}

// Line adds a line of text.
func (r *Report) Line(format string, args ...any) {
	r.Lines = append(r.Lines, fmt.Sprintf(format, args...))
}

// Fail adds a reason why the run failed.
func (r *Report) Fail(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

// String formats the report for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nmachine: %s\n", r.Program, r.Machine)
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n%s", t)
	}
	if len(r.Lines) > 0 {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(r.Lines, "\n"))
	}
	for _, reason := range r.Failures {
		fmt.Fprintf(&b, "FAILED: %s\n", reason)
	}
	return b.String()
}

// Publish prints the report, and writes it as JSON if a file is named. It returns the error of
// the run, which may be nil, and an error if the report has failures.
func (r *Report) Publish(file string, failed error) error {
	fmt.Print(r)
	if len(r.Failures) > 0 {
		failed = errors.Join(failed, errors.New("the run failed"))
	}
	if file == "" {
		return failed
	}
	raw, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, os.WriteFile(file, append(raw, '\n'), 0o600))
}
