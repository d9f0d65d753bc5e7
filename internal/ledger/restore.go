package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Restore creates a ledger from a file that Backup has written. It refuses a damaged file, tables
// of a newer program, and a database that has a ledger. It compares all rows. The ledger gets
// another epoch, so that views of the former one are built again. The tables keep their version;
// Open migrates them. No server may use the database. An error leaves the target without a ledger.
func Restore(ctx context.Context, config Config, path string) (info BackupInfo, err error) {
	began := time.Now()
	if info, err = checkBackup(ctx, path); err != nil {
		return info, err
	}
	from, err := openBackup(path)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	restore := restoreSQLite
	if config.URL != "" {
		restore = restorePostgres
	}
	err = restore(ctx, config, from)
	info.Took = time.Since(began)
	return info, err
}

// restoreSQLite restores into a folder.
func restoreSQLite(ctx context.Context, config Config, from *database) error {
	target := filepath.Join(config.Dir, sqliteFile)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if _, err := os.Lstat(target + suffix); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists or is not readable; stop the server and move this file away, or name another folder with --data", target+suffix)
		}
	}
	config.Dir = filepath.Join(config.Dir, "restore.unfinished")
	_, err := writeFile(ctx, from, target, config.Dir, func() error {
		db, err := openUnmigrated(ctx, config)
		if err != nil {
			return err
		}
		_, err = db.exec(ctx, replaceEpoch, rand.Text())
		return errors.Join(err, db.close())
	})
	return err
}

const replaceEpoch = `UPDATE ledger_info SET epoch = $1 WHERE id = 1`

// restorePostgres restores into a database. Another program sees no row before all are there.
func restorePostgres(ctx context.Context, config Config, from *database) (err error) {
	to, err := openUnmigrated(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	if err := to.refuseLedger(ctx); err != nil {
		return err
	}
	return copyLedger(ctx, from, to, func(tx *transaction) { tx.exec(ctx, replaceEpoch, rand.Text()) })
}

// refuseLedger returns an error if a database of PostgreSQL has a ledger. Tables without rows are
// left of a restore that has failed.
func (db *database) refuseLedger(ctx context.Context) error {
	hasLedger, err := getValue[bool](ctx, db, `SELECT to_regclass('ledger_info') IS NOT NULL`)
	if err == nil && hasLedger {
		hasLedger, err = getValue[bool](ctx, db, `SELECT EXISTS (SELECT 1 FROM ledger_info)`)
	}
	if err == nil && hasLedger {
		err = errors.New("the database has a ledger already; create an empty database and name it in --database")
	}
	return err
}

// newWorkFolder creates an empty folder that only the owner may read.
func newWorkFolder(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.MkdirAll(path, 0o700)
}

// finishFile moves a complete file to its path. It is on disk then.
func finishFile(unfinished, path string) error {
	if err := os.Chmod(unfinished, 0o600); err != nil {
		return err
	}
	if err := syncPath(unfinished); err != nil {
		return err
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	return syncPath(filepath.Dir(path))
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
