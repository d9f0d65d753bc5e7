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

// cachingConnector connects to a SQLite file by connections that keep what they have
// prepared: to prepare a statement costs more there than to run it.
type cachingConnector struct{ url string }

func (k cachingConnector) Driver() driver.Driver { return &sqliteDriver }

// Connect waits while others are at the file: they may be turning it to WAL, for
// which SQLite itself waits for nobody.
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

// maxCachedStatements bounds the statements of a connection: some texts are put together of
// what is asked for. Beyond it a new one is kept in place of any other: what is used
// often soon comes back.
const maxCachedStatements = 200

// cachingConn is such a connection. It hides that it could run a text that was not
// prepared. One goroutine uses it at a time.
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

// Close ends the connection with its statements.
func (c *cachingConn) Close() error {
	for _, s := range c.idle {
		_ = s.Close() // the connection's own error says more
	}
	return c.sqliteConn.Close()
}

type cachedStmt struct {
	sqliteStmt

	conn *cachingConn
	text string
}

// Close gives the statement back, unless another of its text was used beside it.
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
