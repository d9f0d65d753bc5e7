package players

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Report is the result of a load program.
type Report struct {
	Failures []string // why the run failed; none: it passed

	program string // with its settings
	machine string
	tables  []*Table
	lines   []string // results that fit no table
}

// NewReport starts a report of a program with some settings.
func NewReport(program string) *Report { return &Report{program: program, machine: machine()} }

// machine describes this machine and the load on it.
func machine() string {
	load, _ := os.ReadFile("/proc/loadavg") // empty if the file cannot be read
	if fields := strings.Fields(string(load)); len(fields) > 2 {
		load = []byte(strings.Join(fields[:3], " "))
	}
	return fmt.Sprintf("%d cores, %s, %s, load average %s; clients, servers and stores share it", runtime.NumCPU(), runtime.GOARCH, runtime.Version(), load)
}

// Table adds a table with these columns, which have their units in their names.
func (r *Report) Table(name string, columns ...string) *Table {
	t := &Table{name: name, columns: columns}
	r.tables = append(r.tables, t)
	return t
}

// Line adds a line of text.
func (r *Report) Line(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// FailIf adds a reason why the run failed, if there is one.
func (r *Report) FailIf(hasFailed bool, format string, args ...any) {
	if hasFailed {
		r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
	}
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

// Table holds rows of figures with the same columns.
type Table struct {
	name    string
	columns []string
	rows    []row
}

// row holds the figures of all runs of the same thing.
type row struct {
	name string
	runs [][]float64 // a run has one figure for each column
}

// Add adds the figures of one run, one for each column, to the row with a name.
func (t *Table) Add(name string, figures ...float64) {
	if len(figures) != len(t.columns) {
		panic(fmt.Sprintf("report: %s: %d figures for %d columns", name, len(figures), len(t.columns)))
	}
	i := slices.IndexFunc(t.rows, func(r row) bool { return r.name == name })
	if i < 0 {
		i = len(t.rows)
		t.rows = append(t.rows, row{name: name})
	}
	t.rows[i].runs = append(t.rows[i].runs, figures)
}

// Median returns the median of a figure over all runs, the higher one of two.
func Median[T any](runs []T, figure func(T) float64) float64 {
	all := make([]float64, len(runs))
	for i, r := range runs {
		all[i] = figure(r)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// String formats the medians of all rows as a table.
func (t *Table) String() string {
	lines := [][]string{append([]string{t.name}, t.columns...)}
	for _, r := range t.rows {
		line := []string{r.name}
		for i := range t.columns {
			line = append(line, formatFigure(Median(r.runs, func(run []float64) float64 { return run[i] })))
		}
		lines = append(lines, line)
	}
	var b strings.Builder
	for _, line := range lines {
		for i, cell := range line {
			width := 0
			for _, other := range lines {
				width = max(width, utf8.RuneCountInString(other[i]))
			}
			if i == 0 {
				fmt.Fprintf(&b, "%-*s", width, cell)
			} else {
				fmt.Fprintf(&b, "  %*s", width, cell)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// formatFigure formats a whole number, or three digits of another one.
func formatFigure(figure float64) string {
	decimals := 0
	for rest := math.Abs(figure); rest < 100 && rest != math.Trunc(rest) && decimals < 3; rest *= 10 {
		decimals++
	}
	return strconv.FormatFloat(figure, 'f', decimals, 64)
}
