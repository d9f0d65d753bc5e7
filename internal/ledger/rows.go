package ledger

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
)

// scanFunc scans a row.
type scanFunc func(*sql.Rows) error

// into returns the pointers into which a row is scanned.
func into(pointers ...any) []any { return pointers }

// eachRow returns a function that scans a row into pointers and then calls onRow.
func eachRow(onRow func(), pointers ...any) scanFunc {
	return func(rows *sql.Rows) error {
		err := rows.Scan(pointers...)
		if err == nil {
			onRow()
		}
		return err
	}
}

// appendTo returns a function that scans a row into a new value of a list. columns returns
// the pointers to the columns of a value.
func appendTo[T any](all *[]T, columns func(*T) []any) scanFunc {
	return func(rows *sql.Rows) error {
		var value T
		err := rows.Scan(columns(&value)...)
		*all = append(*all, value)
		return err
	}
}

// jsonColumn is the target of a column that has JSON, or no value: "" or NULL.
type jsonColumn struct{ value any }

// asJSON returns the target of a column whose JSON is decoded into a value. A column without a
// value does not change it.
func asJSON(value any) sql.Scanner { return jsonColumn{value} }

// Scan implements sql.Scanner.
func (c jsonColumn) Scan(column any) error {
	text, isText := column.(string)
	switch {
	case column == nil || isText && text == "":
		return nil
	case !isText:
		return fmt.Errorf("a column with JSON is a %T", column)
	}
	return json.Unmarshal([]byte(text), c.value)
}

// itself returns the pointer to a value that is one column.
func itself[T any](value *T) []any { return into(value) }

// list returns a value for each row of a query: see appendTo.
func list[T any](ctx context.Context, db *database, columns func(*T) []any, text string, args ...any) (all []T, err error) {
	err = db.each(ctx, appendTo(&all, columns), text, args...)
	return all, err
}

// queryRows iterates over the rows of a query: see appendTo. It stops after an error.
func queryRows[T any](ctx context.Context, tx *transaction, columns func(*T) []any, text string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		rows, err := tx.QueryContext(ctx, tx.db.expandSQL(text), args...)
		if err != nil {
			yield(none, describe(text, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var value T
			err := rows.Scan(columns(&value)...)
			if !yield(value, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(none, describe(text, err))
		}
	}
}

// getValue returns the value of a query that returns one, and the zero value if it has no row.
func getValue[T any](ctx context.Context, db *database, text string, args ...any) (value T, err error) {
	_, err = db.get(ctx, into(&value), text, args...)
	return value, err
}

// scanAll returns a function that takes the results of QueryContext. The function calls
// scan for each row, closes the rows, and returns the first error.
func scanAll(scan scanFunc) func(*sql.Rows, error) error {
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

// insertRows returns the start of a statement for bulk that inserts rows into a table.
func insertRows(table, columns string) string {
	return fmt.Sprintf("WITH v (%[2]s) AS ({rows})\nINSERT INTO %[1]s (%[2]s) SELECT %[2]s FROM v WHERE true ", table, columns)
}

// updateRows returns a statement for bulk that updates columns of the rows of a table that have
// a key. Its rows have the columns of the key first.
func updateRows(table, key, columns string) string {
	assigned, conditions := strings.Split(columns, ", "), strings.Split(key, ", ")
	for i, column := range assigned {
		assigned[i] = column + " = v." + column
	}
	for i, column := range conditions {
		conditions[i] = table + "." + column + " = v." + column
	}
	return fmt.Sprintf("WITH v (%s, %s) AS ({rows})\nUPDATE %s SET %s FROM v WHERE %s", key, columns, table, strings.Join(assigned, ", "), strings.Join(conditions, " AND "))
}

// valueRows returns a list of rows of parameters, one for each value. These have no numbers,
// because SQLite would search each number among all.
func valueRows(rows [][]any) string {
	row := "(?" + strings.Repeat(", ?", len(rows[0])-1) + ")"
	return "VALUES " + row + strings.Repeat(", "+row, len(rows)-1)
}

// unnestRows returns a SELECT that reads arrays as rows, one array for each column. So the text
// is the same for every number of rows. Its LIMIT is NULL, which means
// no limit. It makes the planner assume a short list, and look up each row by an index.
// Otherwise the planner would scan small tables, and keep that plan as they grow.
func unnestRows(rows [][]any) string {
	arrays := make([]string, len(rows[0]))
	for i, value := range rows[0] {
		typeName := "BIGINT"
		switch value.(type) {
		case string:
			typeName = "TEXT"
		case []byte:
			typeName = "BYTEA"
		}
		arrays[i] = fmt.Sprintf("CAST($%d AS %s[])", i+1, typeName)
	}
	return "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ") LIMIT (SELECT CAST(NULL AS BIGINT))"
}

// arrayColumns converts rows to one array for each column.
func arrayColumns(rows [][]any) []any {
	columns := make([]any, len(rows[0]))
	for i, value := range rows[0] {
		switch value.(type) {
		case string:
			columns[i] = columnValues[string](rows, i)
		case []byte:
			columns[i] = columnValues[[]byte](rows, i)
		default:
			columns[i] = columnValues[int64](rows, i)
		}
	}
	return columns
}

func columnValues[T any](rows [][]any, i int) []T {
	values := make([]T, len(rows))
	for j, row := range rows {
		values[j] = row[i].(T)
	}
	return values
}

// newCursor returns the cursor of the page after a row, which is named by a number and a
// text.
func newCursor(number int64, text string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(number, 10) + ":" + text))
}

// parseCursor returns the row before the page. ok is false if newCursor has not returned
// the cursor.
func parseCursor(cursor string) (number int64, text string, ok bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, "", false
	}
	digits, text, _ := strings.Cut(string(decoded), ":")
	number, err = strconv.ParseInt(digits, 10, 64)
	return number, text, err == nil && newCursor(number, text) == cursor
}

// parseTimeCursor returns the time and the id before which a page starts, whose rows are
// ordered by time and id, newest first. The cursor "" starts with the newest row.
func parseTimeCursor(cursor string) (at int64, id string, ok bool) {
	if cursor == "" {
		return math.MaxInt64, "", true
	}
	at, id, ok = parseCursor(cursor)
	return at, id, ok && !isInvalidID(id)
}

// columnValue is a column of a table and the value that a filter wants, "" for any.
type columnValue struct{ column, value string }

// andEqual returns an SQL condition that starts with AND and requires the values, and args
// with its arguments appended.
func andEqual(args []any, wanted ...columnValue) (condition string, _ []any) {
	for _, w := range wanted {
		if w.value != "" {
			args = append(args, w.value)
			condition += fmt.Sprintf(" AND %s = $%d", w.column, len(args))
		}
	}
	return condition, args
}

// cutPage returns the first limit rows of a page for which one row more was read. It also
// returns the cursor of the next page, "" after the last. The function cursorAfter returns
// the cursor after a row.
func cutPage[T any](page []T, limit int, cursorAfter func(last *T) string) ([]T, string) {
	if len(page) <= limit {
		return page, ""
	}
	return page[:limit], cursorAfter(&page[limit-1])
}
