package ledger

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"laststand/internal/trial"
)

// The statements of every day find what they need by an index, however large
// the tables are.
func TestPlansUseIndexes(t *testing.T) {
	t.Parallel()
	statements := map[string]struct {
		text string
		args []any
	}{
		"player by id":     {selectPlayerByID, []any{"g", "p"}},
		"player by device": {selectPlayerByDevice, []any{"g", "d"}},
		"rename":           {renamePlayer, []any{"g", "p", "n", "s"}},
		"nickname taken":   {nicknameTaken, []any{"g", "s"}},
		"nicknames":        {strings.Replace(selectNicknames, "{ids}", "$2, $3", 1), []any{"g", "p", "q"}},
		"skeletons":        {selectSkeletons, []any{"g", 1}},
		"keys":             {selectKeys, []any{"g"}},
		"questions":        {selectQuestions, []any{"b"}},
		"today":            {selectToday, []any{"g"}},
		"head":             {selectHead, []any{"g"}},
		"raise head":       {raiseHead, []any{"g", 1}},
		"turn head":        {turnHead, []any{"g", 1, "d"}},
		"rows":             {selectEntries, []any{"g", 1, 10}},
		"row id":           {selectRowID, []any{"g", 1}},
		"history":          {selectPlayed, []any{"g", "p", 1, "m", 10}},
		"update player":    {updatePlayer, []any{"g", "p", "r", int64(1), int64(1), int64(1), int64(1), int64(1), int64(1), int64(1), int64(1)}},
	}
	trial.EachSQL(t, func(t *testing.T, db trial.SQL) {
		l := openOn(t, db)
		for name, s := range statements {
			plan := l.explain(t, s.text, s.args)
			if bad := tableScan(l.name, plan); bad != "" {
				t.Errorf("%s reads a whole table: %s\n%s", name, bad, plan)
			}
		}
		if plan := l.explain(t, "SELECT pos FROM entries WHERE player = $1", []any{"p"}); tableScan(l.name, plan) == "" {
			t.Errorf("the test takes a scan for an index:\n%s", plan)
		}
	})
}

// explain asks the database how it would run a statement.
func (l *Ledger) explain(t *testing.T, text string, args []any) string {
	t.Helper()
	var plan strings.Builder
	err := l.inTx(t.Context(), func(tx *sql.Tx) error {
		rows, how, columns := "SELECT "+placeholders(1, len(args)), "EXPLAIN QUERY PLAN ", 4
		if l.name == goose.DialectPostgres {
			// Empty tables would be scanned for being small.
			if _, err := tx.ExecContext(t.Context(), "SET LOCAL enable_seqscan = off"); err != nil {
				return err
			}
			types, arrays := columnsOf(arrayable(args))
			rows, how, columns = "SELECT * FROM unnest("+strings.Join(types, ", ")+")", "EXPLAIN ", 1
			if strings.Contains(text, "{rows}") {
				args = arrays
			}
		}
		text := how + strings.ReplaceAll(l.sql(text), "{rows}", rows)
		return scanAll(func(r *sql.Rows) error {
			line := make([]any, columns)
			for i := range line {
				line[i] = new(any)
			}
			err := r.Scan(line...)
			fmt.Fprintln(&plan, *line[columns-1].(*any))
			return err
		})(tx.QueryContext(t.Context(), text, args...))
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return plan.String()
}

func arrayable(args []any) [][]any {
	row := make([]any, len(args))
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		row[i] = a
	}
	return [][]any{row}
}

// tableScan gives the line of a plan that reads all of a table.
func tableScan(name goose.Dialect, plan string) string {
	for line := range strings.Lines(plan) {
		if name == goose.DialectPostgres && strings.Contains(line, "Seq Scan") {
			return line
		}
		scan := strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "USING")
		if name == goose.DialectSQLite3 && scan && !strings.HasPrefix(line, "SCAN CONSTANT ROW") && !strings.HasPrefix(line, "SCAN v") {
			return line
		}
	}
	return ""
}
