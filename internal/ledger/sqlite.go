package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"laststand/internal/timer"
)

// sqliteFile is the file of the embedded database. SQLite has two more files next to it.
const sqliteFile = "laststand.db"

// sqliteMmap is a pragma that makes readers use memory mapping for up to 2 GiB, SQLite's
// limit. Reading the names of 11 players among a million then takes less than half the
// time.
const sqliteMmap = "mmap_size(2147418112)"

// maxSQLiteReaders is the maximum number of reading connections per pool. There are two
// pools: for the node's own reads and for public reads.
const maxSQLiteReaders = 4

// openSQLite opens the database in a folder.
func openSQLite(_ context.Context, c Config) (*database, error) {
	path, err := filepath.Abs(filepath.Join(c.Dir, sqliteFile))
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if _, err := os.Stat(path); c.MustExist && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no database in the folder %s; use the --data, --database or --config of your server, or start it first", c.Dir)
	}
	if err := createPrivateFile(path); err != nil {
		return nil, fmt.Errorf("ledger: cannot write the data folder %s: %w; make it writable or name another with --data", c.Dir, err)
	}
	writePool := sql.OpenDB(cachingConnector{sqliteURL(path, "_txlock", "immediate")})
	writePool.SetMaxOpenConns(1)
	openReaders := func() *sql.DB {
		db := sql.OpenDB(cachingConnector{sqliteURL(path, "_pragma", "query_only(1)", sqliteMmap)})
		db.SetMaxOpenConns(maxSQLiteReaders)
		db.SetMaxIdleConns(maxSQLiteReaders)
		return db
	}
	return &database{writePool: writePool, readPool: openReaders(), openPublicPool: openReaders, dialect: sqliteDialect()}, nil
}

func sqliteDialect() *dialect {
	return &dialect{
		name:                goose.DialectSQLite3,
		timelineSQL:         "''",
		clockSQL:            "CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)",
		snapshotOptions:     &sql.TxOptions{ReadOnly: true},
		inSelectPrefix:      "IN (SELECT * FROM ",
		fromIDs:             "json_each($2) AS ids CROSS JOIN", // for 50 ids this takes half the time of one parameter per id
		inIDs:               "= ids.value",
		idList:              jsonList,
		bulkRows:            valueRows,
		bulkArgs:            func(rows [][]any) []any { return slices.Concat(rows...) },
		bulkSizes:           []int{16, 4, 1},
		registrationWorkers: 1, // there is one writer
	}
}

func jsonList(ids []string) any {
	text, _ := json.Marshal(ids) // texts can always be encoded
	return string(text)
}

// createPrivateFile creates the file and its folder if they are missing. Only the owner may
// read them, because the file contains token keys. SQLite gives its other files the same
// mode.
func createPrivateFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// sqliteURL returns the URL of the file with the settings of every connection, and with
// more values for one key of the query. Because of synchronous(FULL), a commit is on disk
// when it returns. With busy_timeout(5000), a connection waits up to 5 s for the commit of
// another process.
func sqliteURL(path, key string, values ...string) string {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "secure_delete(1)"}}
	q[key] = append(q[key], values...)
	return sqliteFileURL(path, q.Encode())
}

// sqliteFileURL returns the URL of a file with parameters of SQLite.
func sqliteFileURL(path, parameters string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + parameters
}

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
		sqliteErr, ok := errors.AsType[*sqlite.Error](err)
		if !ok || sqliteErr.Code()&0xff != sqlite3.SQLITE_BUSY || !timer.Sleep(ctx, 20*time.Millisecond) {
			return nil, err
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
