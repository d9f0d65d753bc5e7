package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"laststand/internal/testenv"
)

// backupTest has a ledger with rows in every table, and a backup of it.
type backupTest struct {
	*testing.T
	*Ledger
	db     testenv.SQL
	tables []table
	file   string
}

// eachBackup runs a test with a backup of a ledger on both databases.
func eachBackup(t *testing.T, f func(b *backupTest)) {
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		b := &backupTest{T: t, Ledger: openLedger(t, db), db: db, file: filepath.Join(t.TempDir(), "ledger.backup")}
		sqlite := openLedger(t, testenv.SQL{Dir: t.TempDir()})
		testenv.Need(0, sqlite.inSnapshot(t.Context(), func(tx *transaction) error {
			b.tables = listTables(t.Context(), tx)
			return nil
		}))(t)
		addPlayer(t, b.Ledger, "ada")
		addPlayer(t, b.Ledger, "bob")
		testenv.Need(b.Results.Commit(t.Context(), results(duel("m1", 1, "ada", "bob"), duel("m2", 2, "bob", "ada"))))(t)
		b.fillEmptyTables(sqlite)
		info := testenv.Need(Backup(t.Context(), Config{URL: db.URL, Dir: db.Dir}, b.file))(t)
		if file := testenv.Need(os.Stat(b.file))(t); info.Players != 2 || info.Matches != 2 || info.Bytes != file.Size() || file.Mode().Perm() != 0o600 {
			t.Errorf("the backup is %+v, its mode %v", info, file.Mode())
		}
		f(b)
	})
}

// fillEmptyTables adds rows to the tables that have none, also with NULL and with texts and bytes
// that are hard to copy.
func (b *backupTest) fillEmptyTables(sqlite *Ledger) {
	b.Helper()
	for _, t := range b.tables {
		if b.digests(b.Ledger)[t.name].rows > 0 {
			continue
		}
		for i := range 3 {
			var row []any
			testenv.Need(0, sqlite.each(b.Context(), func(rows *sql.Rows) error {
				var kind string
				var notNull bool
				err := rows.Scan(&kind, &notNull)
				switch {
				case !notNull && i == 0:
					row = append(row, nil)
				case strings.HasPrefix(kind, "TEXT"):
					row = append(row, fmt.Sprintf("%d\té\\N'\"漢🎉\n", i))
				case kind == "BYTEA":
					row = append(row, []byte{0, 255, byte(i)})
				default:
					row = append(row, int64(i)<<30-7)
				}
				return err
			}, `SELECT type, "notnull" OR pk > 0 FROM pragma_table_xinfo($1) WHERE hidden = 0 ORDER BY cid`, t.name))(b)
			parameters := make([]string, len(row))
			for j := range parameters {
				parameters[j] = fmt.Sprint("$", j+1)
			}
			text := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.name, strings.Join(t.columns, ", "), strings.Join(parameters, ", "))
			testenv.Need(b.exec(b.Context(), text, row...))(b)
		}
	}
}

// digests returns the digest of each table, without the epoch.
func (b *backupTest) digests(l *Ledger) map[string]digest {
	b.Helper()
	all := map[string]digest{}
	err := l.inSnapshot(b.Context(), func(tx *transaction) error {
		for _, t := range b.tables {
			t.columns = slices.DeleteFunc(slices.Clone(t.columns), func(column string) bool { return column == "epoch" })
			d, err := t.digest(b.Context(), tx)
			all[t.name] = d
			if err != nil {
				return err
			}
		}
		return nil
	})
	testenv.NoError(b, err)
	return all
}

// A backup of either database is restored into both. All rows are equal, only the epoch differs.
func TestARestoredLedgerHasTheSameRows(t *testing.T) {
	t.Parallel()
	eachBackup(t, func(b *backupTest) {
		want := b.digests(b.Ledger)
		testenv.EachSQL(b.T, func(t *testing.T, db testenv.SQL) {
			config := Config{URL: db.URL, Dir: filepath.Join(db.Dir, "new", "folder")}
			info := testenv.Need(Restore(t.Context(), config, b.file))(t)
			restored := openLedger(t, testenv.SQL{URL: config.URL, Dir: config.Dir})
			if got := b.digests(restored); !maps.Equal(got, want) || len(got) < 25 {
				t.Errorf("tables differ: %v, want %v", got, want)
			}
			if restored.Epoch() == b.Epoch() || info.Players != 2 {
				t.Errorf("the epoch is %q, that of the original is %q; restored %+v", restored.Epoch(), b.Epoch(), info)
			}
			testenv.Need(restored.Results.Commit(t.Context(), results(duel("m3", 3, "ada", "bob"))))(t)
			if _, err := Restore(t.Context(), config, b.file); err == nil || !strings.Contains(err.Error(), "exist") && !strings.Contains(err.Error(), "has a ledger already") {
				t.Errorf("a restore over a ledger: %v", err)
			}
			if got := readHead(t, restored).Pos; got != readHead(t, b.Ledger).Pos+2 {
				t.Errorf("the refused restore changed the ledger: position %d", got)
			}
		})
	})
}

// A backup during commits has what was committed at one moment.
func TestABackupIsTakenWhileTheLedgerIsUsed(t *testing.T) {
	t.Parallel()
	eachBackup(t, func(b *backupTest) {
		var stop atomic.Bool
		var committed atomic.Int64
		runConcurrently(2, func(i int) {
			for n := 0; i == 0 && !stop.Load(); n++ {
				testenv.Need(b.Results.Commit(b.Context(), results(duel(fmt.Sprint("d", n), 1, "ada", "bob"))))(b)
				committed.Add(1)
			}
			for range 3 * i {
				before := committed.Load() + 2
				file := filepath.Join(b.TempDir(), "backup")
				info, err := Backup(b.Context(), Config{URL: b.db.URL, Dir: b.db.Dir}, file) // fails unless positions have no gaps
				if after := committed.Load() + 3; err != nil || info.Matches < before || info.Matches > after {
					b.Errorf("%+v, %v; want %d to %d matches", info, err, before, after)
				}
			}
			stop.Store(stop.Load() || i == 1)
		})
	})
}

// wantNoRestore checks that a file is refused with an error that contains want, and that nothing is
// left in the folder.
func (b *backupTest) wantNoRestore(file, want string) {
	b.Helper()
	dir := b.TempDir()
	_, err := Restore(b.Context(), Config{Dir: dir}, file)
	if err == nil || !strings.Contains(err.Error(), want) {
		b.Errorf("restore of %s: %v; want %q", file, err, want)
	}
	if left := testenv.Need(os.ReadDir(dir))(b); len(left) > 0 {
		b.Errorf("the refused restore left %v", left)
	}
}

func TestUnusableBackupsAreRefused(t *testing.T) {
	t.Parallel()
	eachBackup(t, func(b *backupTest) {
		good := testenv.Need(os.ReadFile(b.file))(b)
		write := func(content []byte) string {
			file := filepath.Join(b.TempDir(), "file")
			testenv.NoError(b, os.WriteFile(file, content, 0o600))
			return file
		}
		change := func(statement string) string {
			file := write(good)
			db := sql.OpenDB(cachingConnector{sqliteFileURL(file, "mode=rw")})
			testenv.Need(db.ExecContext(b.Context(), statement))(b)
			testenv.NoError(b, db.Close())
			return file
		}
		b.wantNoRestore(filepath.Join(b.TempDir(), "missing"), "no such file")
		b.wantNoRestore(write(good[:len(good)/2]), "damaged")
		b.wantNoRestore(write([]byte("no database")), "damaged")
		b.wantNoRestore(change("DROP TABLE migrations"), "has no ledger")
		b.wantNoRestore(change("UPDATE migrations SET version_id = version_id + 10000 WHERE version_id > 0"), "use the newer program")
		b.wantNoRestore(change("UPDATE migrations SET version_id = 1"), "unreleased program")
		b.wantNoRestore(change("DELETE FROM entries WHERE pos = 2"), `entries of the game "com.example.quiz" are missing`)
		b.wantNoRestore(change("DELETE FROM ledger_info"), "not complete")
		if b.db.URL == "" {
			b.wantNoRestore(filepath.Join(b.db.Dir, sqliteFile), "use `server backup`")
		}
		if _, err := Backup(b.Context(), Config{URL: b.db.URL, Dir: b.db.Dir}, b.file); err == nil || !strings.Contains(err.Error(), "name a new file") {
			b.Errorf("a backup over a backup: %v", err)
		}
	})
}

// A restore that fails in the middle leaves no ledger, and can be repeated.
func TestAFailedRestoreCanBeRepeated(t *testing.T) {
	t.Parallel()
	eachBackup(t, func(b *backupTest) {
		testenv.EachSQL(b.T, func(t *testing.T, db testenv.SQL) {
			config := Config{URL: db.URL, Dir: filepath.Join(db.Dir, "data")}
			stopped, cancel := context.WithCancel(t.Context())
			if db.URL == "" {
				testenv.Need(0, os.MkdirAll(filepath.Join(config.Dir, "restore.unfinished", sqliteFile), 0o700))(t) // of a killed restore
				cancel()
			} else {
				to := testenv.Need(openUnmigrated(t.Context(), config))(t)
				testenv.NoError(t, to.migrateTo(t.Context(), testenv.Need(newestVersion())(t)))
				testenv.Need(to.exec(t.Context(), "CREATE FUNCTION fail() RETURNS trigger AS 'BEGIN RAISE ''disk full''; END' LANGUAGE plpgsql"))(t)
				testenv.Need(to.exec(t.Context(), "CREATE TRIGGER fail BEFORE INSERT ON days EXECUTE FUNCTION fail()"))(t)
				defer func() { testenv.Need(0, to.close())(t) }()
				if _, err := Restore(t.Context(), config, b.file); err == nil || !strings.Contains(err.Error(), "copy the table days") {
					t.Errorf("a restore into a full database: %v", err)
				}
				testenv.Need(to.exec(t.Context(), "DROP TRIGGER fail ON days"))(t)
				cancel()
			}
			if _, err := Restore(stopped, config, b.file); !errors.Is(err, context.Canceled) {
				t.Errorf("a canceled restore: %v", err)
			}
			if _, err := os.Stat(filepath.Join(config.Dir, sqliteFile)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the failed restore left a database: %v", err)
			}
			testenv.Need(Restore(t.Context(), config, b.file))(t)
			restored := openLedger(t, testenv.SQL{URL: config.URL, Dir: config.Dir})
			if !maps.Equal(b.digests(restored), b.digests(b.Ledger)) {
				t.Error("the repeated restore has other rows")
			}
		})
	})
}
