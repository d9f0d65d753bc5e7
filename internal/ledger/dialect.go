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

// dialect is all that SQLite and PostgreSQL do not have in common.
type dialect struct {
	name                  goose.Dialect
	clock                 string // a SQL expression: the database's clock now, epoch ms
	txOptions             *sql.TxOptions
	snapshotOptions       *sql.TxOptions // of a transaction that reads one moment
	allowIdle             string         // begins a transaction that may stand still, as others may not; "": all may
	lockSpelling          string         // has claims of names wait, those under way having ended, until the transaction ends
	forUpdate, skipLocked string         // the end of a SELECT that locks its rows; of one that leaves out locked ones
	forShare              string         // the end of a SELECT whose row stays until the transaction ends
	inSelect              string         // before (SELECT …)): is among these; on SQLite of one row
	fromIDs, inIDs        string         // in FROM, what goes through the list of ids that is $2; after a column: is one of them
	idList                func(ids []string) any
	bulk                  func(in executor) bulk
	registrationWorkers   int       // transactions of new players at once
	once                  sync.Once // makes names
	replacer              *strings.Replacer
	openListener          func(ctx context.Context) (*pgx.Conn, error) // beside the pool, to listen on; nil: there is nothing to hear
}

// sql puts the clock in place of {now}, and what else the dialect has in place of
// its name in braces.
func (d *dialect) sql(text string) string {
	d.once.Do(func() {
		d.replacer = strings.NewReplacer("{now}", d.clock, "{lock}", d.forUpdate, "{share}", d.forShare, "{free}", d.skipLocked, "{any}", d.inSelect, "{ids}", d.fromIDs, "{listed}", d.inIDs)
	})
	return d.replacer.Replace(text)
}

// placeholders is "$from, …" for n parameters.
func placeholders(from, n int) string {
	marks := make([]string, n)
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", from+i)
	}
	return strings.Join(marks, ", ")
}
