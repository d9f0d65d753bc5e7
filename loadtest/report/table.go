package report

import (
	"encoding/json"
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
	Name    string
	Columns []Column
	rows    []row
}

// row holds the figures of all runs of the same thing.
type row struct {
	name string
	runs [][]float64 // a run has one figure for each column
}

// Add adds the figures of one run, one for each column, to the row with a name.
func (t *Table) Add(name string, figures ...float64) {
	if len(figures) != len(t.Columns) {
		panic(fmt.Sprintf("report: %s: %d figures for %d columns", name, len(figures), len(t.Columns)))
	}
	i := slices.IndexFunc(t.rows, func(r row) bool { return r.name == name })
	if i < 0 {
		i = len(t.rows)
		t.rows = append(t.rows, row{name: name})
	}
	t.rows[i].runs = append(t.rows[i].runs, figures)
}

// medians returns the median of each column over all runs.
func (r row) medians() []float64 {
	medians := make([]float64, len(r.runs[0]))
	for i := range medians {
		medians[i] = Median(r.runs, func(run []float64) float64 { return run[i] })
	}
	return medians
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
	lines := [][]string{{t.Name}}
	for _, c := range t.Columns {
		lines[0] = append(lines[0], c.Name)
	}
	for _, r := range t.rows {
		line := []string{r.name}
		for i, m := range r.medians() {
			line = append(line, fmt.Sprintf("%.*f", t.Columns[i].Decimals, m))
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

// MarshalJSON writes the medians of each row and the figures of each run, by column.
func (t *Table) MarshalJSON() ([]byte, error) {
	byColumn := func(figures []float64) map[string]float64 {
		named := make(map[string]float64)
		for i, c := range t.Columns {
			named[c.Name] = figures[i]
		}
		return named
	}
	type jsonRow struct {
		Name    string               `json:"name"`
		Medians map[string]float64   `json:"medians"`
		Runs    []map[string]float64 `json:"runs"`
	}
	rows := []jsonRow{}
	for _, r := range t.rows {
		one := jsonRow{Name: r.name, Medians: byColumn(r.medians())}
		for _, run := range r.runs {
			one.Runs = append(one.Runs, byColumn(run))
		}
		rows = append(rows, one)
	}
	return json.Marshal(map[string]any{"name": t.Name, "rows": rows})
}
