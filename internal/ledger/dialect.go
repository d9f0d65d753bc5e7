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
	lock, free  string         // the end of a SELECT that locks its rows; of one that leaves out locked ones
	bulk        func(tx *sql.Tx) bulk
}

// sql puts the clock in place of {now}, and locks in place of {lock} and {free}.
func (d *dialect) sql(text string) string {
	return strings.NewReplacer("{now}", d.clock, "{lock}", d.lock, "{free}", d.free).Replace(text)
}

// placeholders is "$from, …" for n parameters.
func placeholders(from, n int) string {
	marks := make([]string, n)
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", from+i)
	}
	return strings.Join(marks, ", ")
}
