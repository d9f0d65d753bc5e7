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
	clockSQL              string // SQL expression of the database's current time, epoch ms
	txOptions             *sql.TxOptions
	snapshotOptions       *sql.TxOptions         // of inSnapshot
	allowIdle             string                 // statement that allows a transaction to be idle; "": the database has no limit
	byteOrder             string                 // {bytes}: after the type of a text column: compares it by bytes, in a database of any locale
	lockNicknameRules     string                 // statement that blocks claims of names until the transaction ends
	forUpdate, skipLocked string                 // {lock}: end of a SELECT that locks its rows; {free}: the same, but it skips locked rows
	forShare              string                 // {share}: end of a SELECT whose row must not change until the transaction ends
	inSelectPrefix        string                 // {any}: operator before "(SELECT …))"; true for each of its values; on SQLite the SELECT returns one row
	fromIDs, inIDs        string                 // {ids}: in FROM, iterates over the ids in $2; {listed}: after a column, true for one of these ids
	idList                func(ids []string) any // converts ids to the parameter $2
	newBulkRunner         func(in executor) bulkRunner
	registrationWorkers   int       // concurrent registration transactions
	replacerOnce          sync.Once // initializes replacer
	replacer              *strings.Replacer
	openListener          func(ctx context.Context) (*pgx.Conn, error) // opens a connection to listen on; nil: the database has no notifications
}

// expandSQL replaces {now} by the expression of the clock, and the other names in braces by
// the dialect's fragments: see the fields.
func (d *dialect) expandSQL(text string) string {
	d.replacerOnce.Do(func() {
		d.replacer = strings.NewReplacer("{now}", d.clockSQL, "{lock}", d.forUpdate, "{share}", d.forShare, "{free}", d.skipLocked, "{any}", d.inSelectPrefix, "{ids}", d.fromIDs, "{listed}", d.inIDs, "{bytes}", d.byteOrder)
	})
	return d.replacer.Replace(text)
}

// placeholders returns "$from, …" for n parameters.
func placeholders(from, n int) string {
	parameters := make([]string, n)
	for i := range parameters {
		parameters[i] = fmt.Sprintf("$%d", from+i)
	}
	return strings.Join(parameters, ", ")
}
