package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var sqliteDriver sqlite.Driver

// cachingConnector connects to a SQLite file by connections that cache prepared
// statements. Preparing a statement costs more there than running it.
type cachingConnector struct{ url string }

func (k cachingConnector) Driver() driver.Driver { return &sqliteDriver }

// Connect retries while another process uses the file. That process may be switching the
// file to WAL mode, for which SQLite itself does not wait.
func (k cachingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for {
		conn, err := sqliteDriver.Open(k.url)
		if err == nil {
			return &cachingConn{conn.(sqliteConn), map[string]sqliteStmt{}}, nil
		}
		if fault, ok := errors.AsType[*sqlite.Error](err); !ok || fault.Code()&0xff != sqlite3.SQLITE_BUSY {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// maxCachedStatements bounds the cached statements of a connection, because some texts
// depend on the request. Above it a new statement replaces any other one; frequent ones
// soon come back.
const maxCachedStatements = 200

// cachingConn is such a connection. It hides the interfaces for running unprepared
// texts. One goroutine uses it at a time.
type cachingConn struct {
	sqliteConn

	idle map[string]sqliteStmt // by text
}

type sqliteConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.SessionResetter
	driver.Validator
}

type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func (c *cachingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if s := c.idle[text]; s != nil {
		delete(c.idle, text)
		return &cachedStmt{s, c, text}, nil
	}
	s, err := c.sqliteConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &cachedStmt{s.(sqliteStmt), c, text}, nil
}

// Close closes the connection and its statements.
func (c *cachingConn) Close() error {
	for _, s := range c.idle {
		_ = s.Close() // the connection's own error is more useful
	}
	return c.sqliteConn.Close()
}

type cachedStmt struct {
	sqliteStmt

	conn *cachingConn
	text string
}

// Close puts the statement back into the cache, unless the cache has one with the same
// text.
func (s *cachedStmt) Close() error {
	idle := s.conn.idle
	if idle[s.text] != nil {
		return s.sqliteStmt.Close()
	}
	var err error
	if len(idle) == maxCachedStatements {
		for text, other := range idle {
			delete(idle, text)
			err = other.Close()
			break
		}
	}
	idle[s.text] = s.sqliteStmt
	return err
}
