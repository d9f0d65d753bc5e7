package ledger

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"laststand/internal/testenv"
)

func TestEpochIsWrittenOnce(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		epochs := make([]string, 4)
		runConcurrently(len(epochs), func(i int) { // as several processes that start at once
			l, err := Open(t.Context(), Config{URL: db.URL, Dir: db.Dir})
			if err != nil {
				t.Error(err)
				return
			}
			epochs[i] = l.Epoch()
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		again := openLedger(t, db).Epoch()
		for _, epoch := range epochs {
			if epoch != again || epoch == "" {
				t.Errorf("epochs %q, after reopening %q", epochs, again)
			}
		}
	})
}

func TestPingReportsAClosedLedger(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		testenv.NoError(t, l.Ping(t.Context()))
		testenv.NoError(t, l.Close())
		if err := l.Ping(t.Context()); err == nil {
			t.Fatal("a closed ledger answers")
		}
	})
}

// A panic ends its transaction: SQLite's only writing connection is free again.
func TestAPanicEndsItsTransaction(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		for name, in := range map[string]func(context.Context, func(*transaction) error) error{"writing": l.inTx, "reading": l.inSnapshot} {
			func() {
				defer func() { _ = recover() }()
				err := in(t.Context(), func(*transaction) error { panic(name) })
				t.Errorf("%s: no panic, %v", name, err)
			}()
			if n := l.writePool.Stats().InUse + l.readPool.Stats().InUse; n > 0 {
				t.Errorf("%s: connections are in use after a panic", name)
			}
		}
	})
}

func TestTablesOfTheNextReleaseAreUsedAndLaterOnesRefused(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openLedger(t, db)
		testenv.Need(l.exec(t.Context(), "INSERT INTO migrations (version_id, is_applied) VALUES (399, TRUE)"))(t) // of the next release
		openLedger(t, db)
		testenv.Need(l.exec(t.Context(), "INSERT INTO migrations (version_id, is_applied) VALUES (400, TRUE)"))(t)
		wantRefusal(t, Config{URL: db.URL, Dir: db.Dir}, "newer program", "version 400", "up to 399")
	})
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"": "",
		"postgres://u:s3cret@db.example:5432/laststand":       "",
		"postgresql://db.example/laststand?sslmode=disable":   "",
		"postgres:///laststand?host=/run/postgresql":          "",
		"postgres:///laststand":                               "no host",
		"mysql://u:s3cret@db.example/laststand":               `scheme "mysql"`,
		"db.example":                                          "scheme",
		"postgres://u:s3cret@db.example/x?sslmode=s3cretmode": "sslmode",
		"postgres://u:s3cret@db.example:port/x":               "not a URL",
		"postgres://u:s3cr%et@db.example/x":                   "not a URL",
	} {
		err := Validate(url)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", url, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr") {
			t.Errorf("%q: error %v, want %q and no password", url, err, want)
		}
	}
}

func TestAnUnreachablePostgresIsReported(t *testing.T) {
	t.Parallel()
	l := testenv.Need(net.Listen("tcp", "127.0.0.1:0"))(t) // accepts connections and never answers
	defer l.Close()
	silent := l.Addr().String()
	for _, addr := range []string{silent, "127.0.0.1:1"} {
		wantRefusal(t, Config{URL: "postgres://u:s3cret@" + addr + "/x?sslmode=disable"}, addr, "--database")
	}
}

func TestPostgresWithoutSynchronousCommitIsRefused(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		if db.URL == "" {
			return
		}
		l := openLedger(t, db)
		_, err := l.exec(t.Context(), `DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = off'; END $$`)
		if err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, Config{URL: db.URL}, "synchronous_commit", "ALTER DATABASE")
	})
}

func TestAReadOnlyDataFolderIsReported(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	testenv.NoError(t, os.WriteFile(file, nil, 0o600))
	wantRefusal(t, Config{Dir: filepath.Join(file, "data")}, "cannot write the data folder", "--data")
}

func TestDamagedFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, sqliteFile), []byte(strings.Repeat("no database ", 100)), 0o600))
	wantRefusal(t, Config{Dir: dir}, "is damaged or is not a database", dir)
}

func TestDatabaseFilesAreReadableByTheOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new folder #1?") // characters that have a meaning in a URL
	openConfig(t, Config{Dir: dir})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, %v: want the database, its log and its index", files, err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

// While the disk is full, Commit fails with an error for which IsUnavailable is true. The
// same commit succeeds after space is free.
func TestAFullDiskIsTemporary(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.SQL{Dir: t.TempDir()})
	limit := func(pages string) {
		if _, err := l.writePool.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("1") // no less than there are
	big := duel("m1", 1, names("p", 2000)...)
	_, err := l.Results.Commit(t.Context(), results(big))
	if !IsUnavailable(err) {
		t.Fatalf("error %v: want one that is the database's condition", err)
	}
	if advice := withAdvice(err, Config{Dir: "data"}); !strings.Contains(advice.Error(), "free some space") {
		t.Errorf("no advice in %q", advice)
	}
	limit("1000000")
	if done := testenv.Need(l.Results.Commit(t.Context(), results(big)))(t); !done[0].IsNew {
		t.Error("the refused result left a trace")
	}
}

func wantRefusal(t *testing.T, c Config, wants ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*connectTimeout) // the ledger must return earlier
	defer cancel()
	l, err := Open(ctx, c)
	if ctx.Err() != nil {
		t.Error("opening did not end by itself")
	}
	if err == nil {
		l.Close()
		t.Fatalf("opened: want an error with %q", wants)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %q tells the password", err)
	}
}

// Many processes open a new file at the same time. Each waits while another switches the
// file to WAL mode.
func TestManyProcessesOpenANewFile(t *testing.T) {
	t.Parallel()
	for range 4 {
		dir := t.TempDir()
		runConcurrently(8, func(int) {
			l, err := Open(t.Context(), Config{Dir: dir})
			if err != nil {
				t.Error(err)
				return
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
