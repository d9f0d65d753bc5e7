package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
)

// dialect has everything in which SQLite and PostgreSQL differ.
type dialect struct {
	name                  goose.Dialect
	clock                 string // SQL expression of the database's current time, epoch ms
	txOptions             *sql.TxOptions
	snapshotOptions       *sql.TxOptions // of a transaction that reads one moment
	allowIdle             string         // statement that allows a transaction to be idle; "": all may be idle
	lockSpelling          string         // statement that blocks claims of names until the transaction ends
	forUpdate, skipLocked string         // end of a SELECT that locks its rows; of one that skips locked rows
	forShare              string         // end of a SELECT whose row must not change until the transaction ends
	inSelect              string         // before "(SELECT …))": is one of its values; on SQLite the SELECT has one row
	fromIDs, inIDs        string         // in FROM: iterates over the ids in $2; after a column: is one of these ids
	idList                func(ids []string) any
	bulk                  func(in executor) bulk
	registrationWorkers   int       // concurrent registration transactions
	once                  sync.Once // initializes replacer
	replacer              *strings.Replacer
	openListener          func(ctx context.Context) (*pgx.Conn, error) // opens a connection to listen on; nil: the database has no notifications
}

// sql replaces {now} by the clock, and the other names in braces by their text in the
// dialect.
func (d *dialect) sql(text string) string {
	d.once.Do(func() {
		d.replacer = strings.NewReplacer("{now}", d.clock, "{lock}", d.forUpdate, "{share}", d.forShare, "{free}", d.skipLocked, "{any}", d.inSelect, "{ids}", d.fromIDs, "{listed}", d.inIDs)
	})
	return d.replacer.Replace(text)
}

// placeholders returns "$from, …" for n parameters.
func placeholders(from, n int) string {
	marks := make([]string, n)
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", from+i)
	}
	return strings.Join(marks, ", ")
}
