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
	state, code := errorCodes(err)
	return slices.Contains(unavailableClasses, state[:min(2, len(state))]) || slices.Contains(unavailableCodes, code&0xff)
}

// errorCodes returns the SQLSTATE of an error of PostgreSQL, or the result code of an error of
// SQLite. Other errors have neither.
func errorCodes(err error) (state string, code int) {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		state = e.Code
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code = e.Code()
	}
	return state, code
}

// unavailableClasses are classes of SQLSTATEs, which are their first two characters (PostgreSQL
// manual, appendix A).
var unavailableClasses = []string{
	"08", // connection
	"25", // transaction state: read-only after a fail-over
	"40", // rolled back: deadlock, serialization
	"53", // resources: disk full, too many connections
	"55", // lock not available
	"57", // operator: shutting down, cancelled
	"58", // system: I/O
}

// unavailableCodes are primary result codes of SQLite, which are the low bytes of result codes.
var unavailableCodes = []int{
	sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT,
	sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL,
}

// IsResultRefused reports whether an error of Commit is caused by the content of a result,
// so that the same result can never be committed. All other errors may be temporary.
func IsResultRefused(err error) bool {
	state, code := errorCodes(err)
	return errors.Is(err, ErrBadResult) || slices.Contains(badDataStates, state) || code == sqlite3.SQLITE_CONSTRAINT_CHECK
}

// badDataStates are the SQLSTATEs of data that PostgreSQL cannot store: an invalid character, a
// character that cannot be translated to the encoding, a failed CHECK constraint.
var badDataStates = []string{"22021", "22P05", "23514"}

func isUniqueViolation(err error) bool {
	state, code := errorCodes(err)
	return state == "23505" || code == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

// withAdvice adds to an error of Open what the operator can do.
func withAdvice(err error, c Config) error {
	state, code := errorCodes(err)
	switch state {
	case "25006":
		return fmt.Errorf("%w; the database server is read-only (a standby?); name the primary in --database", err)
	case "42501":
		return fmt.Errorf("%w; allow the database user to create tables: GRANT CREATE, USAGE ON SCHEMA public TO …", err)
	}
	switch code & 0xff {
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
