package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pressly/goose/v3"
)

// database is an open database with the tables of a ledger. The types of this package
// share it; each of them works on some of the tables.
type database struct {
	*dialect
	writePool *sql.DB // SQLite: one connection, because it allows one writer
	readPool  *sql.DB // on PostgreSQL the same pool as writePool, unless only for public reads
	// openPublicPool returns another pool of reading connections, for public reads.
	openPublicPool func() *sql.DB

	epoch       *atomic.Pointer[string] // see Epoch
	hashKey     hashKey                 // the same on all nodes
	log         *slog.Logger
	notifyTopic func(topic string) // see Config.NotifyTopic
}

// close closes the connections, after running statements have ended.
func (db *database) close() error {
	err := db.readPool.Close()
	if db.writePool != db.readPool {
		err = errors.Join(err, db.writePool.Close())
	}
	return err
}

// Epoch returns the random id that the ledger got when it was created or restored. Data that
// was derived from a ledger with another epoch is invalid.
func (db *database) Epoch() string { return *db.epoch.Load() }

// loadInfo reads the ledger's epoch and its key. A new ledger gets random ones first.
func (db *database) loadInfo(ctx context.Context) error {
	if _, err := db.exec(ctx, `INSERT INTO ledger_info (id, epoch, erasure_key) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING`,
		rand.Text(), rand.Text()); err != nil {
		return err
	}
	var epoch, key string
	_, err := db.get(ctx, into(&epoch, &key), `SELECT epoch, erasure_key FROM ledger_info WHERE id = 1`)
	db.epoch, db.hashKey = new(atomic.Pointer[string]), hashKey(key)
	db.epoch.Store(&epoch)
	return err
}

// Now returns the database's time, epoch ms.
func (db *database) Now(ctx context.Context) (int64, error) {
	return getValue[int64](ctx, db, "SELECT {now}")
}

// exec runs one writing statement and returns the number of changed rows. When exec
// returns without an error, the changes are on disk.
func (db *database) exec(ctx context.Context, text string, args ...any) (int64, error) {
	tx := db.in(db.writePool)
	changed := tx.exec(ctx, text, args...)
	return changed, tx.err
}

// get scans the row of a query into pointers. found is false if there is none.
func (db *database) get(ctx context.Context, pointers []any, text string, args ...any) (found bool, err error) {
	err = db.each(ctx, eachRow(func() { found = true }, pointers...), text, args...)
	return found, err
}

// each scans each row of a query.
func (db *database) each(ctx context.Context, scan scanFunc, text string, args ...any) error {
	tx := db.in(db.readPool)
	tx.each(ctx, scan, text, args...)
	return tx.err
}

// readBulk runs one query for many rows: see transaction.bulk.
func (db *database) readBulk(ctx context.Context, text string, rows [][]any, scan scanFunc) error {
	return db.inSnapshot(ctx, func(tx *transaction) error {
		tx.bulk(ctx, text, rows, scan)
		return nil
	})
}

// inTx runs f in one writing transaction, which is on disk when inTx returns nil. After
// an error nothing has changed. If the error comes from the commit itself, the outcome
// is unknown.
//
// After a commit it notifies the topics of the transaction. It does so even if the commit
// returns an error, because the commit may have succeeded nevertheless. A repeated call would
// then find nothing to notify.
func (db *database) inTx(ctx context.Context, f func(*transaction) error) error {
	begun, err := db.writePool.BeginTx(ctx, db.txOptions)
	if err != nil {
		return describe("BEGIN", err)
	}
	defer func() { _ = begun.Rollback() }() // also if f panics; does nothing after a commit
	tx := db.in(begun)
	err = f(tx)
	if err = cmp.Or(tx.err, err); err != nil {
		return err
	}
	err = describe("COMMIT", begun.Commit())
	for _, topic := range tx.topics {
		db.notifyTopic(topic)
	}
	return err
}

// inSnapshot runs f in a reading transaction. All its reads see the ledger at the same
// moment. f may take long.
func (db *database) inSnapshot(ctx context.Context, f func(*transaction) error) error {
	begun, err := db.readPool.BeginTx(ctx, db.snapshotOptions)
	if err != nil {
		return describe("BEGIN", err)
	}
	defer func() { _ = begun.Rollback() }() // the transaction only reads
	tx := db.in(begun)
	if db.allowIdle != "" {
		tx.exec(ctx, db.allowIdle)
	}
	err = f(tx)
	return cmp.Or(tx.err, err)
}

// transaction is a transaction of a database. It remembers the first error. After that, it
// runs no statement, its methods return zero values, and inTx or inSnapshot returns the error.
type transaction struct {
	executor
	db     *database
	err    error    // the first one
	topics []string // those that had no ready task before and have one now, to notify after the commit
}

// executor runs the statements of a transaction. If it is a pool, each statement is a transaction
// of its own.
type executor interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

func (db *database) in(e executor) *transaction { return &transaction{executor: e, db: db} }

// exec runs a statement and returns the number of changed rows.
func (tx *transaction) exec(ctx context.Context, text string, args ...any) (changed int64) {
	if tx.err != nil {
		return 0
	}
	result, err := tx.ExecContext(ctx, tx.db.expandSQL(text), args...)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	tx.err = describe(text, err)
	return changed
}

// get scans the row of a query into pointers. found is false if there is none.
func (tx *transaction) get(ctx context.Context, pointers []any, text string, args ...any) (found bool) {
	tx.each(ctx, eachRow(func() { found = true }, pointers...), text, args...)
	return found && tx.err == nil
}

// each scans each row of a query.
func (tx *transaction) each(ctx context.Context, scan scanFunc, text string, args ...any) {
	if tx.err == nil {
		tx.err = describe(text, scanAll(scan)(tx.QueryContext(ctx, tx.db.expandSQL(text), args...)))
	}
}

// bulk runs one statement for many rows. It handles as many rows at once as the dialect allows,
// which is several times as fast as a statement for each row.
//
// The statement reads the rows from {rows}, a query of their columns in order:
//
//	WITH v (game, id) AS ({rows}) DELETE FROM t WHERE (game, id) IN (SELECT game, id FROM v)
//
// A row consists of strings, int64s and []byte. A column has the same type in all rows. bulk
// calls scan for each row that the statement returns; scan is nil if it returns none. No
// two rows may change the same row of a table.
func (tx *transaction) bulk(ctx context.Context, text string, rows [][]any, scan scanFunc) {
	for len(rows) > 0 && tx.err == nil {
		n := tx.db.bulkSize(len(rows))
		statement, args := tx.db.expandSQL(text, rows[:n]...), tx.db.bulkArgs(rows[:n])
		if scan == nil {
			_, err := tx.ExecContext(ctx, statement, args...)
			tx.err = describe(text, err)
		} else {
			tx.err = describe(text, scanAll(scan)(tx.QueryContext(ctx, statement, args...)))
		}
		rows = rows[n:]
	}
}

// statementTarget finds what a statement does to which table.
var statementTarget = regexp.MustCompile(`(INSERT INTO|UPDATE|DELETE FROM|FROM) ([a-z_]+)`)

// describe adds to an error of the database which statement has failed.
func describe(text string, err error) error {
	if err == nil {
		return nil
	}
	if target := statementTarget.FindString(text); target != "" {
		text = target
	}
	return fmt.Errorf("ledger: %s: %w", text, err)
}

// dialect has everything in which SQLite and PostgreSQL differ.
type dialect struct {
	name                  goose.Dialect
	clockSQL              string // SQL expression of the database's current time, epoch ms
	timelineSQL           string // {timeline}: SQL expression, see Position.Timeline
	txOptions             *sql.TxOptions
	snapshotOptions       *sql.TxOptions            // of inSnapshot
	allowIdle             string                    // statement that allows a transaction to be idle; "": the database has no limit
	byteOrder             string                    // {bytes}: after the type of a text column: compares it by bytes, in a database of any locale
	forUpdate, skipLocked string                    // {lock}: end of a SELECT that locks its rows; {free}: the same, but it skips locked rows
	inSelectPrefix        string                    // {any}: operator before "(SELECT …))"; true for each of its values; on SQLite a set of rows
	fromIDs, inIDs        string                    // {ids}: in FROM, iterates over the ids in $2; {listed}: after a column, true for one of these ids
	idList                func(ids []string) any    // converts ids to the parameter $2
	bulkRows              func(rows [][]any) string // {rows}: see transaction.bulk
	bulkArgs              func(rows [][]any) []any  // the parameters of bulkRows
	bulkSizes             []int                     // numbers of rows of one statement, the largest first; nil: any number up to maxBulkRows
	registrationWorkers   int                       // concurrent registration transactions
	expanded              sync.Map                  // statementKey → its text for the database
}

// maxBulkRows limits the rows of one statement.
const maxBulkRows = 2000

// statementKey identifies an expanded text. rows is the number of rows of a statement of bulk, if
// the text depends on it.
type statementKey struct {
	text string
	rows int
}

// bulkSize returns how many of some rows one statement of bulk handles.
func (d *dialect) bulkSize(rows int) int {
	for _, size := range d.bulkSizes {
		if size <= rows {
			return size
		}
	}
	return min(rows, maxBulkRows)
}

// expandSQL replaces {now} by the expression of the clock, and the other names in braces by
// the dialect's fragments: see the fields. The rows are those of a statement of bulk. It keeps
// the result, because there are few texts.
func (d *dialect) expandSQL(text string, rows ...[]any) string {
	key, bulkRows := statementKey{text: text}, ""
	if len(d.bulkSizes) > 0 {
		key.rows = len(rows)
	}
	if known, isKnown := d.expanded.Load(key); isKnown {
		return known.(string)
	}
	if len(rows) > 0 {
		bulkRows = d.bulkRows(rows)
	}
	text = strings.NewReplacer(
		"{now}", d.clockSQL, "{lock}", d.forUpdate, "{free}", d.skipLocked, "{any}", d.inSelectPrefix, "{ids}", d.fromIDs,
		"{listed}", d.inIDs, "{bytes}", d.byteOrder, "{timeline}", d.timelineSQL, "{rows}", bulkRows,
	).Replace(text)
	d.expanded.Store(key, text)
	return text
}
