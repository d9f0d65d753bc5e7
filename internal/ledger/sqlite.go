package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
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

// openSQLite opens the database in a folder. publicPool is for public reads.
func openSQLite(_ context.Context, c Config) (db *database, publicPool *sql.DB, err error) {
	path, err := filepath.Abs(filepath.Join(c.Dir, sqliteFile))
	if err != nil {
		return nil, nil, fmt.Errorf("ledger: %w", err)
	}
	if _, err := os.Stat(path); c.MustExist && errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("no database in the folder %s; use the --data, --database or --config of your server, or start it first", c.Dir)
	}
	if err := createPrivateFile(path); err != nil {
		return nil, nil, fmt.Errorf("ledger: cannot write the data folder %s: %w; make it writable or name another with --data", c.Dir, err)
	}
	writePool := sql.OpenDB(cachingConnector{sqliteURL(path, "_txlock", "immediate")})
	writePool.SetMaxOpenConns(1)
	openReaders := func() *sql.DB {
		db := sql.OpenDB(cachingConnector{sqliteURL(path, "_pragma", "query_only(1)", sqliteMmap)})
		db.SetMaxOpenConns(maxSQLiteReaders)
		db.SetMaxIdleConns(maxSQLiteReaders)
		return db
	}
	return &database{writePool: writePool, readPool: openReaders(), dialect: &dialect{
		name:                goose.DialectSQLite3,
		clockSQL:            "CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)",
		snapshotOptions:     &sql.TxOptions{ReadOnly: true},
		lockNicknameRules:   "SELECT 1", // there is only one writer
		inSelectPrefix:      "IN (",
		fromIDs:             "json_each($2) AS ids CROSS JOIN", // for 50 ids this takes half the time of one parameter per id
		inIDs:               "= ids.value",
		idList:              jsonList,
		newBulkRunner:       func(in executor) bulkRunner { return sqliteBulkRunner{in} },
		registrationWorkers: 1, // there is one writer
	}}, openReaders(), nil
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
// more values for one key of the query. synchronous(FULL) means that a commit is on disk
// when it returns. busy_timeout(5000) makes a connection wait up to 5 s for the commit of
// another process.
func sqliteURL(path, key string, values ...string) string {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "secure_delete(1)"}}
	q[key] = append(q[key], values...)
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}
