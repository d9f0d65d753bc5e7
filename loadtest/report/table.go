package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Column describes a figure that each row has.
type Column struct {
	Name     string // with the unit, such as "p99 ms"
	Decimals int    // digits after the point in the text
}

// Table holds rows of figures with the same columns.
type Table struct {
	name    string
	columns []Column
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
	lines := [][]string{{t.name}}
	for _, c := range t.columns {
		lines[0] = append(lines[0], c.Name)
	}
	for _, r := range t.rows {
		line := []string{r.name}
		for i, c := range t.columns {
			line = append(line, fmt.Sprintf("%.*f", c.Decimals, Median(r.runs, func(run []float64) float64 { return run[i] })))
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
