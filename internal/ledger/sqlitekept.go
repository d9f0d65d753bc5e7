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

// keeping connects to a SQLite file by connections that keep what they have
// prepared: to prepare a statement costs more there than to run it.
type keeping struct{ url string }

func (k keeping) Driver() driver.Driver { return &sqliteDriver }

// Connect waits while others are at the file: they may be turning it to WAL, for
// which SQLite itself waits for nobody.
func (k keeping) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	for {
		conn, err := sqliteDriver.Open(k.url)
		if err == nil {
			return &keptConn{conn.(sqliteConn), map[string]sqliteStmt{}}, nil
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

// maxKept bounds the statements of a connection: some texts are put together of
// what is asked for. Beyond it a new one is kept in place of any other: what is used
// often soon comes back.
const maxKept = 200

// keptConn is such a connection. It hides that it could run a text that was not
// prepared. One goroutine uses it at a time.
type keptConn struct {
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

func (c *keptConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if s := c.idle[text]; s != nil {
		delete(c.idle, text)
		return &keptStmt{s, c, text}, nil
	}
	s, err := c.sqliteConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &keptStmt{s.(sqliteStmt), c, text}, nil
}

// Close ends the connection with its statements.
func (c *keptConn) Close() error {
	for _, s := range c.idle {
		_ = s.Close() // the connection's own error says more
	}
	return c.sqliteConn.Close()
}

type keptStmt struct {
	sqliteStmt

	conn *keptConn
	text string
}

// Close gives the statement back, unless another of its text was used beside it.
func (s *keptStmt) Close() error {
	idle := s.conn.idle
	if idle[s.text] != nil {
		return s.sqliteStmt.Close()
	}
	var err error
	if len(idle) == maxKept {
		for text, other := range idle {
			delete(idle, text)
			err = other.Close()
			break
		}
	}
	idle[s.text] = s.sqliteStmt
	return err
}
