package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"

	"laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

// An unreleased program has made the tables. The ledger refuses them and says what to do.
func TestTablesOfAnUnreleasedProgramAreRefused(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openLedger(t, db)
		testenv.Need(l.exec(t.Context(), "UPDATE migrations SET version_id = 100 WHERE version_id > 0"))(t)
		wantRefusal(t, Config{URL: db.URL, Dir: db.Dir}, "unreleased", "version 100", "--database", "--data")
	})
}

// A migration and a commit of another node deadlock, and the database ends the migration. It runs again.
func TestAMigrationRunsAgainAfterADeadlock(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		l, runs := openLedger(t, db), 0
		migration := goose.NewGoMigration(900, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			if runs++; runs == 1 {
				return &pgconn.PgError{Code: "40P01"}
			}
			_, err := tx.ExecContext(ctx, "CREATE TABLE rehearsals (id BIGINT PRIMARY KEY)")
			return err
		}}, nil)
		provider := testenv.Need(goose.NewProvider(l.name, l.writePool, nil, goose.WithTableName("rehearsal_migrations"),
			goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(migration)))(t)
		if err := l.runMigrations(t.Context(), provider); err != nil || runs != 2 {
			t.Errorf("%d runs, %v", runs, err)
		}
		testenv.Need(l.exec(t.Context(), "INSERT INTO rehearsals (id) VALUES (1)"))(t)
	})
}

// Holders are ordered by their bytes in a database of any locale.
func TestHoldersAreOrderedByBytesInAnyLocale(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		if db.URL == "" {
			return
		}
		admin := openLedger(t, db)
		const name = "test_english"
		testenv.Need(admin.exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"))(t)
		t.Cleanup(func() { testenv.Need(admin.exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"))(t) })
		u := testenv.Need(url.Parse(db.URL))(t)
		u.Path = "/" + name
		l := openWithClock(t, testenv.SQL{URL: u.String()}, time.UTC)
		ids := []string{"b", "B", "a-b", "a", "A_", "a_", "aB"}
		for day := range int64(3) {
			l.setClock(t, day*dayMS)
			testenv.Need(l.Results.Commit(t.Context(), results(duel(fmt.Sprint("m", day), 1, ids...))))(t)
		}
		testenv.Need(l.Days.SumDays(t.Context(), game))(t)
		slices.Sort(ids)
		if got := testenv.Need(l.Leaderboards.ReadHolders(t.Context(), game, leaderboard.Players, "A", 100))(t); !slices.Equal(got, ids) {
			t.Errorf("holders %q, want %q", got, ids)
		}
		var got []string
		for _, s := range readSnapshot(t, l.Ledger) {
			got = append(got, s.Holder)
		}
		if got = slices.Compact(got); !slices.Equal(got, ids) {
			t.Errorf("sums of %q, want %q", got, ids)
		}
		checkSums(t, l.Ledger)
	})
}
