package ledger

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

// An unreleased program has made the tables. The ledger refuses them and says what to do.
func TestTablesOfAnUnreleasedProgramAreRefused(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openLedger(t, db)
		must(l.exec(t.Context(), "UPDATE migrations SET version_id = 100 WHERE version_id > 0"))(t)
		wantRefusal(t, Config{URL: db.URL, Dir: db.Dir}, "unreleased", "version 100", "--database", "--data")
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
		must(admin.exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"))(t)
		t.Cleanup(func() { must(admin.exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"))(t) })
		u := must(url.Parse(db.URL))(t)
		u.Path = "/" + name
		l := openWithClock(t, testenv.SQL{URL: u.String()}, time.UTC)
		ids := []string{"b", "B", "a-b", "a", "A_", "a_", "aB"}
		for day := range int64(3) {
			l.setClock(t, day*dayMS)
			must(l.Results.Commit(t.Context(), results(duel(fmt.Sprint("m", day), 1, ids...))))(t)
		}
		must(l.Days.SumDays(t.Context(), game))(t)
		slices.Sort(ids)
		if got := must(l.Leaderboards.ReadHolders(t.Context(), game, leaderboard.Players, "A", 100))(t); !slices.Equal(got, ids) {
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
