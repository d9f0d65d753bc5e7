package ledger

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is all that SQLite and PostgreSQL do not have in common.
type dialect struct {
	name        goose.Dialect
	clock       string // a SQL expression: the database's clock now, epoch ms
	txOptions   *sql.TxOptions
	lookOptions *sql.TxOptions // of a transaction that reads one moment
	bulk        func(tx *sql.Tx) bulk
}

// sql puts the clock in place of {now}.
func (d *dialect) sql(text string) string {
	return strings.ReplaceAll(text, "{now}", d.clock)
}

// placeholders is "$from, …" for n parameters.
func placeholders(from, n int) string {
	marks := make([]string, n)
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", from+i)
	}
	return strings.Join(marks, ", ")
}
