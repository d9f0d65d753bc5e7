// Package report writes what a load program has measured: as tables for people and as JSON.
//
// A Report names the machine and has tables. A row of a Table holds the figures of one or
// more runs of the same thing; the text shows their medians.
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

// Report is the figures of a load program.
type Report struct {
	Program string    `json:"program"` // with its settings
	Machine string    `json:"machine"`
	At      time.Time `json:"at"`
	Tables  []*Table  `json:"tables"`
}

// New starts a report of a program with some settings.
func New(program string) *Report {
	return &Report{Program: program, Machine: Machine(), At: time.Now()}
}

// Machine describes this machine and the load on it.
func Machine() string {
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

// String formats the report for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nmachine: %s\n", r.Program, r.Machine)
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n%s", t)
	}
	return b.String()
}

// Publish prints the report, and writes it as JSON if a file is named. The error of the
// run, which may be nil, is returned too.
func (r *Report) Publish(file string, failed error) error {
	fmt.Print(r)
	return errors.Join(failed, WriteJSON(file, r))
}

// WriteJSON writes a value as JSON. If no file is named (""), it does nothing.
func WriteJSON(file string, v any) error {
	if file == "" {
		return nil
	}
	raw, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o600)
}
