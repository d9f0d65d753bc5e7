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

// cachingConnector opens connections to a SQLite file that cache prepared statements. On
// SQLite, preparing a statement often takes longer than running it.
type cachingConnector struct{ url string }

func (c cachingConnector) Driver() driver.Driver { return &sqliteDriver }

// Connect opens a connection. It retries for up to connectTimeout while the file is busy.
// Another process may be switching the file to WAL mode, and busy_timeout does not cover
// that.
func (c cachingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for {
		conn, err := sqliteDriver.Open(c.url)
		if err == nil {
			return &cachingConn{conn.(sqliteConn), map[string]sqliteStmt{}}, nil
		}
		if sqliteErr, ok := errors.AsType[*sqlite.Error](err); !ok || sqliteErr.Code()&0xff != sqlite3.SQLITE_BUSY {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// maxCachedStatements limits the cached statements of a connection, because some texts
// depend on the request. At the limit a new statement replaces an arbitrary one. Frequent
// statements soon return to the cache.
const maxCachedStatements = 200

// cachingConn is a connection that caches prepared statements. It does not have the
// interfaces for running unprepared texts, so database/sql prepares every statement. Only
// one goroutine uses it at a time.
type cachingConn struct {
	sqliteConn

	idle map[string]sqliteStmt // statements that are not in use, by text
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

// PrepareContext returns a cached statement, or prepares one.
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

// cachedStmt is a statement that returns to the cache when it is closed.
type cachedStmt struct {
	sqliteStmt

	conn *cachingConn
	text string
}

// Close returns the statement to the cache, unless the cache has one with the same text.
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
