package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// bulkRunner runs one statement for many rows in a transaction. On SQLite it runs a prepared
// statement once for each row. On PostgreSQL one statement handles up to maxBulkRows
// rows, which is about six times as fast there.
//
// The statement reads the rows from {rows}, a SELECT of their columns in order:
//
//	WITH v (game, id) AS ({rows}) INSERT INTO t (game, id) SELECT game, id FROM v WHERE true
//
// A row consists of strings and int64s. A column has the same type in all rows. run
// calls scan for each row that the statement returns; scan is nil if it returns none. No
// two rows may change the same row of a table.
type bulkRunner interface {
	run(ctx context.Context, text string, rows [][]any, scan func(*sql.Rows) error) error
}

// executor is a transaction, or a database in which each statement is a transaction.
type executor interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}

// sqliteBulkRunner runs a prepared statement once for each row.
type sqliteBulkRunner struct{ executor executor }

func (b sqliteBulkRunner) run(ctx context.Context, text string, rows [][]any, scan func(*sql.Rows) error) error {
	if len(rows) == 0 {
		return nil
	}
	text = strings.ReplaceAll(text, "{rows}", "SELECT "+placeholders(1, len(rows[0])))
	stmt, err := b.executor.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, row := range rows {
		if scan == nil {
			_, err = stmt.ExecContext(ctx, row...)
		} else {
			err = scanAll(scan)(stmt.QueryContext(ctx, row...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// postgresBulkRunner passes each column of the rows to PostgreSQL as one array.
type postgresBulkRunner struct{ executor executor }

// maxBulkRows limits the rows of one statement.
const maxBulkRows = 2000

func (b postgresBulkRunner) run(ctx context.Context, text string, rows [][]any, scan func(*sql.Rows) error) error {
	for chunk := range slices.Chunk(rows, maxBulkRows) {
		types, columns := arrayColumns(chunk)
		text := strings.ReplaceAll(text, "{rows}", unnestRows(types))
		var err error
		if scan == nil {
			_, err = b.executor.ExecContext(ctx, text, columns...)
		} else {
			err = scanAll(scan)(b.executor.QueryContext(ctx, text, columns...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unnestRows returns a SELECT that reads arrays as rows. Its LIMIT is NULL, which means
// no limit. It makes the planner assume a short list, and look up each row by an index.
// Otherwise the planner would scan small tables, and keep that plan as they grow.
func unnestRows(types []string) string {
	return "SELECT * FROM unnest(" + strings.Join(types, ", ") + ") LIMIT (SELECT CAST(NULL AS BIGINT))"
}

// arrayColumns converts rows to one array for each column. types are the parameters with
// casts to the arrays' types, for example CAST($1 AS TEXT[]).
func arrayColumns(rows [][]any) (types []string, columns []any) {
	for i, first := range rows[0] {
		if _, ok := first.(string); ok {
			types = append(types, fmt.Sprintf("CAST($%d AS TEXT[])", i+1))
			columns = append(columns, columnValues[string](rows, i))
			continue
		}
		types = append(types, fmt.Sprintf("CAST($%d AS BIGINT[])", i+1))
		columns = append(columns, columnValues[int64](rows, i))
	}
	return types, columns
}

func columnValues[T any](rows [][]any, i int) []T {
	values := make([]T, len(rows))
	for j, row := range rows {
		values[j] = row[i].(T)
	}
	return values
}

// scanAll returns a function that takes the results of QueryContext. The function calls
// scan for each row, closes the rows, and returns the first error.
func scanAll(scan func(*sql.Rows) error) func(*sql.Rows, error) error {
	return func(rows *sql.Rows, err error) error {
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// collect returns a function that takes the results of QueryContext and returns a value
// for each row. columns returns the destinations of a row's columns in a value.
func collect[T any](columns func(*T) []any) func(*sql.Rows, error) ([]T, error) {
	return func(rows *sql.Rows, err error) (all []T, _ error) {
		err = scanAll(func(rows *sql.Rows) error {
			var value T
			err := rows.Scan(columns(&value)...)
			all = append(all, value)
			return err
		})(rows, err)
		return all, err
	}
}
