package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
)

// sqliteFile is the embedded database. SQLite keeps two more files beside it.
const sqliteFile = "laststand.db"

// sqliteMmap makes readers use memory mapping for up to 2 GiB, SQLite's limit. Reading
// the names of 11 players among a million then costs less than half.
const sqliteMmap = "mmap_size(2147418112)"

// sqliteReaders bounds the reading connections: once for the node's own reads and once
// for public reads.
const sqliteReaders = 4

func openSQLite(_ context.Context, c Config) (*Ledger, error) {
	path, err := filepath.Abs(filepath.Join(c.Dir, sqliteFile))
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := makePrivate(path); err != nil {
		return nil, fmt.Errorf("ledger: cannot write the data folder %s: %w; make it writable or name another with --data", c.Dir, err)
	}
	write := sql.OpenDB(cachingConnector{sqliteURL(path, "_txlock", "immediate")})
	write.SetMaxOpenConns(1)
	readers := func() *sql.DB {
		db := sql.OpenDB(cachingConnector{sqliteURL(path, "_pragma", "query_only(1)", sqliteMmap)})
		db.SetMaxOpenConns(sqliteReaders)
		db.SetMaxIdleConns(sqliteReaders)
		return db
	}
	own := readers()
	return &Ledger{read: own, core: &core{write: write, own: own, public: readers(), dialect: dialect{
		name:                goose.DialectSQLite3,
		clock:               "CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)",
		snapshotOptions:     &sql.TxOptions{ReadOnly: true},
		lockSpelling:        "SELECT 1", // there is only one writer
		inSelect:            "IN (",
		fromIDs:             "json_each($2) AS ids CROSS JOIN", // for 50 ids half the cost of one parameter each
		inIDs:               "= ids.value",
		idList:              jsonList,
		bulk:                func(in executor) bulk { return rowBulk{in} },
		registrationWorkers: 1, // there is one writer
	}}}, nil
}

func jsonList(ids []string) any {
	text, _ := json.Marshal(ids) // texts can always be encoded
	return string(text)
}

// makePrivate creates the file and its folder if they are missing, for the owner only,
// because the file holds token keys. SQLite gives its other files the same mode.
func makePrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// sqliteURL returns the file with the settings of every connection, and more values of
// one key. A commit is on disk (FULL). A connection waits up to 5 s for another
// process's commit.
func sqliteURL(path, key string, values ...string) string {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "secure_delete(1)"}}
	q[key] = append(q[key], values...)
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}
