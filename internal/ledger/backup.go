package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
)

// BackupInfo describes a backup.
type BackupInfo struct {
	Players, Matches int64
	Version          int64         // of the tables
	Bytes            int64         // size of the file
	Took             time.Duration // to write or to restore it
}

// Backup writes the ledger to a new file, also while servers use the ledger. The file is a
// SQLite database with the tables of the ledger, for both kinds of databases. It has all that was
// committed at one moment. Backup does not migrate the tables. After an error there is no file.
func Backup(ctx context.Context, config Config, path string) (info BackupInfo, err error) {
	began := time.Now()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return info, fmt.Errorf("%s exists or is not readable; name a new file", path)
	}
	config.MustExist = true
	db, err := openUnmigrated(ctx, config)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	info, err = writeFile(ctx, db, path, path+".unfinished", func() error { return nil })
	info.Took = time.Since(began)
	return info, err
}

// writeFile writes a ledger to a SQLite file, and checks it. It works in a folder, in which finish
// may change the file. The file appears under its path when it is complete.
func writeFile(ctx context.Context, from *database, path, work string, finish func() error) (info BackupInfo, err error) {
	if err := newWorkFolder(work); err != nil {
		return info, err
	}
	defer os.RemoveAll(work)
	unfinished := filepath.Join(work, sqliteFile)
	if from.name == goose.DialectSQLite3 {
		_, err = from.writePool.ExecContext(ctx, "VACUUM INTO $1", unfinished)
	} else {
		err = copyToFolder(ctx, from, work)
	}
	if err == nil {
		info, err = checkBackup(ctx, unfinished)
	}
	if err == nil {
		err = finish()
	}
	if err == nil {
		err = finishFile(unfinished, path)
	}
	return info, err
}

// tableVersion returns the version of the tables. It refuses those of a newer program, and
// those of an unreleased program.
func tableVersion(ctx context.Context, tx *transaction) (version int64, err error) {
	if !tx.get(ctx, into(&version), `SELECT COALESCE(MAX(version_id), 0) FROM migrations`) {
		tx.err = fmt.Errorf("it has no ledger: %w", tx.err)
		return 0, tx.err
	}
	newest, err := newestVersion()
	switch {
	case err != nil:
		return 0, err
	case version > newest:
		return 0, fmt.Errorf("its tables have version %d, and this program supports up to %d; use the newer program", version, newest)
	case version < firstVersion:
		return 0, fmt.Errorf("its tables have version %d of an unreleased program", version)
	}
	return version, nil
}

// newestVersion returns the version of the tables of this program.
func newestVersion() (newest int64, err error) {
	migrations, err := sqliteDialect().migrations()
	for _, m := range migrations {
		newest = max(newest, m.Version)
	}
	return newest, err
}

// migrateTo creates or migrates the tables up to a version.
func (db *database) migrateTo(ctx context.Context, version int64) error {
	provider, err := db.migrationProvider()
	if err == nil {
		_, err = provider.UpTo(ctx, version)
	}
	if err != nil {
		return fmt.Errorf("create the tables: %w", err)
	}
	return nil
}

const (
	selectMissingEntries = `
SELECT h.game FROM ledger_heads h
WHERE h.pos <> (SELECT COUNT(*) FROM entries e WHERE e.game = h.game) OR h.pos <> (SELECT MAX(pos) FROM entries e WHERE e.game = h.game)`
	selectSize = `SELECT (SELECT COUNT(*) FROM players), (SELECT COUNT(*) FROM matches) FROM ledger_info WHERE id = 1`
)

// checkBackup checks the integrity of a backup, the version of its tables, and that no entry is
// missing.
func checkBackup(ctx context.Context, path string) (info BackupInfo, err error) {
	db, err := openBackup(path)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	err = db.inSnapshot(ctx, func(tx *transaction) (err error) {
		var verdict, game string
		if tx.get(ctx, into(&verdict), "PRAGMA integrity_check(1)"); verdict != "ok" {
			tx.err = fmt.Errorf("it is damaged or is no backup: %w", errors.Join(tx.err, errors.New(verdict)))
			return tx.err
		}
		info.Version, err = tableVersion(ctx, tx)
		switch {
		case err != nil:
			return err
		case tx.get(ctx, into(&game), selectMissingEntries):
			return fmt.Errorf("entries of the game %q are missing: %w", game, errIncompleteBackup)
		case !tx.get(ctx, into(&info.Players, &info.Matches), selectSize):
			return errIncompleteBackup
		}
		return nil
	})
	if err != nil {
		return info, fmt.Errorf("%s: %w", path, err)
	}
	file, err := os.Stat(path)
	if err == nil {
		info.Bytes = file.Size()
	}
	return info, err
}

// errIncompleteBackup means that a file lacks rows that every ledger has.
var errIncompleteBackup = errors.New("the ledger is not complete")

// openBackup opens a file that Backup has written. It changes nothing.
func openBackup(path string) (*database, error) {
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 {
		return nil, fmt.Errorf("%s is the database of a server, not a backup; use `server backup`", path)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(cachingConnector{sqliteFileURL(absolute, "mode=ro&immutable=1")})
	return &database{writePool: pool, readPool: pool, dialect: sqliteDialect()}, nil
}
