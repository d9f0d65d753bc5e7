package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
)

// database is an open database with the tables of a ledger. The types of this package
// share it; each of them works on some of the tables.
type database struct {
	*dialect
	writePool *sql.DB // SQLite: one connection, because it allows one writer
	readPool  *sql.DB // on PostgreSQL the same pool as writePool, unless only for public reads
	epoch     string  // see Epoch
	hashKey   hashKey // the same on all nodes
	log       *slog.Logger
}

// prepare migrates the tables and reads the ledger's identity.
func (db *database) prepare(ctx context.Context) error {
	if err := db.migrate(ctx); err != nil {
		return err
	}
	return db.loadInfo(ctx)
}

// close closes the connections, after running statements have ended.
func (db *database) close() error {
	err := db.readPool.Close()
	if db.writePool != db.readPool {
		err = errors.Join(err, db.writePool.Close())
	}
	return err
}

// Epoch returns the random id that the ledger got when it was created. Data that was
// derived from a ledger with another epoch is invalid.
func (db *database) Epoch() string { return db.epoch }

const (
	insertLedgerInfo = `INSERT INTO ledger_info (id, epoch, erasure_key) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING`
	selectLedgerInfo = `SELECT epoch, erasure_key FROM ledger_info WHERE id = 1`
)

// loadInfo reads the ledger's epoch and its key. A new ledger gets random ones first.
func (db *database) loadInfo(ctx context.Context) error {
	if _, err := db.exec(ctx, insertLedgerInfo, rand.Text(), rand.Text()); err != nil {
		return err
	}
	var key string
	err := db.readPool.QueryRowContext(ctx, selectLedgerInfo).Scan(&db.epoch, &key)
	db.hashKey = hashKey(key)
	return err
}

// Now returns the database's time, epoch ms.
func (db *database) Now(ctx context.Context) (now int64, err error) {
	if err = db.readPool.QueryRowContext(ctx, db.expandSQL("SELECT {now}")).Scan(&now); err != nil {
		return 0, fmt.Errorf("ledger: clock: %w", err)
	}
	return now, nil
}

// inTx runs f in one writing transaction, which is on disk when inTx returns nil. After
// an error nothing has changed. If the error comes from the commit itself, the outcome
// is unknown.
func (db *database) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := db.writePool.BeginTx(ctx, db.txOptions)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // also if f panics; does nothing after a commit
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// inSnapshot runs f in a reading transaction. All its reads see the ledger at the same
// moment. f may take long.
func (db *database) inSnapshot(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := db.readPool.BeginTx(ctx, db.snapshotOptions)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // the transaction only reads
	if db.allowIdle != "" {
		_, err = tx.ExecContext(ctx, db.allowIdle)
	}
	if err == nil {
		err = f(tx)
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
