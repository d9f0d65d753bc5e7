package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"laststand/internal/timer"
)

// ErrBadResult means that Commit can never commit a result.
var ErrBadResult = errors.New("ledger: result refused")

// errKeyDeleted means that a key existed at the insert and was deleted before it was
// read. Enqueue must not report a task that does not exist, so the caller must retry.
var errKeyDeleted = errors.New("the task of a key was deleted while the key was enqueued again; enqueue it again")

// IsUnavailable reports whether the same call may succeed later. Examples: the database is
// unreachable, too slow or busy, its disk is full, the context ended, or the ledger is closed.
func IsUnavailable(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, errKeyDeleted) || errors.Is(err, timer.ErrBatcherClosed) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return isPostgresUnavailable(e.Code)
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return isSQLiteUnavailable(e.Code())
	}
	return false
}

// IsResultRefused reports whether an error of Commit is caused by the content of a result,
// so that the same result can never be committed. All other errors may be temporary.
func IsResultRefused(err error) bool {
	if errors.Is(err, ErrBadResult) {
		return true
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.Contains(badDataStates, e.Code)
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_CHECK
}

// badDataStates are the SQLSTATEs of data that PostgreSQL cannot store: an invalid character, a
// character that cannot be translated to the encoding, a failed CHECK constraint.
var badDataStates = []string{"22021", "22P05", "23514"}

// isPostgresUnavailable decides by the class of a SQLSTATE, which is its first two
// characters (PostgreSQL manual, appendix A).
func isPostgresUnavailable(code string) bool {
	switch code[:min(2, len(code))] {
	case "08", // connection
		"25", // transaction state: read-only after a fail-over
		"40", // rolled back: deadlock, serialization
		"53", // resources: disk full, too many connections
		"55", // lock not available
		"57", // operator: shutting down, cancelled
		"58": // system: I/O
		return true
	}
	return false
}

// isSQLiteUnavailable decides by the primary result code, which is the low byte.
func isSQLiteUnavailable(code int) bool {
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT,
		sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

func isUniqueViolation(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "23505"
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

// withAdvice adds to an error of Open what the operator can do.
func withAdvice(err error, c Config) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "25006":
			return fmt.Errorf("%w; the database server is read-only (a standby?); name the primary in --database", err)
		case "42501":
			return fmt.Errorf("%w; allow the database user to create tables: GRANT CREATE, USAGE ON SCHEMA public TO …", err)
		}
		return err
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return fmt.Errorf("%w; the disk of %s may be full; free some space, or name another folder with --data", err, c.Dir)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w; make the data folder %s writable, or name another with --data", err, c.Dir)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w; %s in %s is damaged or is not a database; restore it from a copy, or name another folder with --data", err, sqliteFile, c.Dir)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("%w; another process has locked the database in %s; retry, or end that process", err, c.Dir)
	}
	return err
}
