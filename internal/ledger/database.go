package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pressly/goose/v3"
)

// database is an open database with the tables of a ledger. The types of this package
// share it; each of them works on some of the tables.
type database struct {
	*dialect
	writePool *sql.DB                 // SQLite: one connection, because it allows one writer
	readPool  *sql.DB                 // on PostgreSQL the same pool as writePool, unless only for public reads
	epoch     *atomic.Pointer[string] // see Epoch
	hashKey   hashKey                 // the same on all nodes
	log       *slog.Logger
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

const (
	insertLedgerInfo = `INSERT INTO ledger_info (id, epoch, erasure_key) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING`
	selectLedgerInfo = `SELECT epoch, erasure_key FROM ledger_info WHERE id = 1`
)

// loadInfo reads the ledger's epoch and its key. A new ledger gets random ones first.
func (db *database) loadInfo(ctx context.Context) error {
	if _, err := db.exec(ctx, insertLedgerInfo, rand.Text(), rand.Text()); err != nil {
		return err
	}
	var epoch, key string
	err := db.queryRow(ctx, selectLedgerInfo).Scan(&epoch, &key)
	db.epoch, db.hashKey = new(atomic.Pointer[string]), hashKey(key)
	db.epoch.Store(&epoch)
	return err
}

// Now returns the database's time, epoch ms.
func (db *database) Now(ctx context.Context) (now int64, err error) {
	defer describe(&err, "clock")
	err = db.queryRow(ctx, "SELECT {now}").Scan(&now)
	return now, err
}

// inTx runs f in one writing transaction, which is on disk when inTx returns nil. After
// an error nothing has changed. If the error comes from the commit itself, the outcome
// is unknown.
func (db *database) inTx(ctx context.Context, f func(*transaction) error) error {
	tx, err := db.writePool.BeginTx(ctx, db.txOptions)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // also if f panics; does nothing after a commit
	if err := f(&transaction{tx, db}); err != nil {
		return err
	}
	return tx.Commit()
}

// inSnapshot runs f in a reading transaction. All its reads see the ledger at the same
// moment. f may take long.
func (db *database) inSnapshot(ctx context.Context, f func(*transaction) error) error {
	tx, err := db.readPool.BeginTx(ctx, db.snapshotOptions)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // the transaction only reads
	if db.allowIdle != "" {
		_, err = tx.ExecContext(ctx, db.allowIdle)
	}
	if err == nil {
		err = f(&transaction{tx, db})
	}
	return err
}

// exec runs one writing statement and returns the number of changed rows. When exec
// returns without an error, the changes are on disk.
func (db *database) exec(ctx context.Context, text string, args ...any) (int64, error) {
	result, err := db.writePool.ExecContext(ctx, db.expandSQL(text), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (db *database) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return db.readPool.QueryContext(ctx, db.expandSQL(text), args...)
}

// queryRow runs one reading statement that returns at most one row.
func (db *database) queryRow(ctx context.Context, text string, args ...any) *sql.Row {
	return db.readPool.QueryRowContext(ctx, db.expandSQL(text), args...)
}

// transaction is a transaction of a database.
type transaction struct {
	*sql.Tx
	db *database
}

// exec runs a statement and returns the number of changed rows.
func (tx *transaction) exec(ctx context.Context, text string, args ...any) (int64, error) {
	result, err := tx.ExecContext(ctx, tx.db.expandSQL(text), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (tx *transaction) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return tx.QueryContext(ctx, tx.db.expandSQL(text), args...)
}

func (tx *transaction) queryRow(ctx context.Context, text string, args ...any) *sql.Row {
	return tx.QueryRowContext(ctx, tx.db.expandSQL(text), args...)
}

// bulk runs one statement for many rows. On SQLite it runs a prepared statement once for
// each row. On PostgreSQL one statement handles up to maxBulkRows rows, which is about six
// times as fast there.
//
// The statement reads the rows from {rows}, a SELECT of their columns in order:
//
//	WITH v (game, id) AS ({rows}) INSERT INTO t (game, id) SELECT game, id FROM v WHERE true
//
// A row consists of strings, int64s and []byte. A column has the same type in all rows. bulk
// calls scan for each row that the statement returns; scan is nil if it returns none. No
// two rows may change the same row of a table.
func (tx *transaction) bulk(ctx context.Context, text string, rows [][]any, scan func(*sql.Rows) error) error {
	return tx.db.runBulk(ctx, tx.Tx, tx.db.expandSQL(text), rows, scan)
}

// bulkStep is a statement of bulkSteps. name is for its error.
type bulkStep struct {
	name, text string
	rows       [][]any
}

// bulkSteps runs statements that return no rows, one after the other, each for many rows.
func (tx *transaction) bulkSteps(ctx context.Context, steps ...bulkStep) error {
	for _, step := range steps {
		if err := tx.bulk(ctx, step.text, step.rows, nil); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// describe adds an operation to the error that a function returns: use it with defer.
func describe(err *error, operation string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("ledger: %s: %w", fmt.Sprintf(operation, args...), *err)
	}
}

// dialect has everything in which SQLite and PostgreSQL differ.
type dialect struct {
	name                  goose.Dialect
	clockSQL              string // SQL expression of the database's current time, epoch ms
	timelineSQL           string // {timeline}: SQL expression, see Position.Timeline
	txOptions             *sql.TxOptions
	snapshotOptions       *sql.TxOptions                                                                                     // of inSnapshot
	allowIdle             string                                                                                             // statement that allows a transaction to be idle; "": the database has no limit
	byteOrder             string                                                                                             // {bytes}: after the type of a text column: compares it by bytes, in a database of any locale
	forUpdate, skipLocked string                                                                                             // {lock}: end of a SELECT that locks its rows; {free}: the same, but it skips locked rows
	inSelectPrefix        string                                                                                             // {any}: operator before "(SELECT …))"; true for each of its values; on SQLite the SELECT returns one row
	fromIDs, inIDs        string                                                                                             // {ids}: in FROM, iterates over the ids in $2; {listed}: after a column, true for one of these ids
	idList                func(ids []string) any                                                                             // converts ids to the parameter $2
	runBulk               func(ctx context.Context, tx *sql.Tx, text string, rows [][]any, scan func(*sql.Rows) error) error // see transaction.bulk
	registrationWorkers   int                                                                                                // concurrent registration transactions
	replacerOnce          sync.Once                                                                                          // initializes replacer
	replacer              *strings.Replacer
}

// expandSQL replaces {now} by the expression of the clock, and the other names in braces by
// the dialect's fragments: see the fields.
func (d *dialect) expandSQL(text string) string {
	d.replacerOnce.Do(func() {
		d.replacer = strings.NewReplacer("{now}", d.clockSQL, "{lock}", d.forUpdate, "{free}", d.skipLocked, "{any}", d.inSelectPrefix, "{ids}", d.fromIDs, "{listed}", d.inIDs, "{bytes}", d.byteOrder, "{timeline}", d.timelineSQL)
	})
	return d.replacer.Replace(text)
}

// placeholders returns "$1, …" for n parameters.
func placeholders(n int) string {
	parameters := make([]string, n)
	for i := range parameters {
		parameters[i] = fmt.Sprintf("$%d", 1+i)
	}
	return strings.Join(parameters, ", ")
}

// hashKey is the key of the hashes by which the ledger remembers erased subjects.
type hashKey []byte

// hashSubject returns the text that replaces an erased subject. It starts with #, so it is no
// valid id. Without the key it does not reveal the subject.
func (k hashKey) hashSubject(game, subject string) string {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(game + "\x00" + subject))
	return "#" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}
