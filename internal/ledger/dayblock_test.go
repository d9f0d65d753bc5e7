package ledger

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/testenv"
)

// openWithTwoClocks opens a ledger like openWithClock, but also with a cluster time. Both clocks
// show noon of a day.
func openWithTwoClocks(t *testing.T, db testenv.SQL) (l clockLedger, cluster *atomic.Int64) {
	t.Helper()
	cluster = new(atomic.Int64)
	cluster.Store(12 * 3600 * 1000)
	l = clockLedger{openConfig(t, Config{
		URL: db.URL, Dir: db.Dir, TimeZones: map[string]*time.Location{game: time.UTC}, clockSQL: testClock,
		ClusterTime: cluster.Load, Registry: prometheus.NewRegistry(),
	})}
	for _, text := range []string{"CREATE TABLE test_clock (ms BIGINT)", "INSERT INTO test_clock VALUES (43200000)"} {
		if _, err := l.exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
	return l, cluster
}

func (c clockLedger) wantDays(t *testing.T, want ...string) {
	t.Helper()
	if got := c.listDays(t); !slices.Equal(got, want) {
		t.Errorf("days %q, want %q", got, want)
	}
}

// The database's clock is a year ahead for a while. No day starts then, results count on
// the current day, and days start normally afterwards.
func TestAWrongDatabaseClockStartsNoDay(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		for _, ahead := range []int64{365 * dayMS, 3 * dayMS, dayMS, 500 * 365 * dayMS, dayMS/2 + 2*3600*1000} {
			l, cluster := openWithTwoClocks(t, newDatabase(t, db))
			l.setClock(t, 12*3600*1000+ahead)
			if turned := testenv.Need(l.Days.StartNewDays(t.Context(), game))(t); turned {
				t.Errorf("%d ms ahead: a day started", ahead)
			}
			testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, "p1"))))(t)
			if held := testutil.ToFloat64(l.entries.dayClocks.blockedGauge.WithLabelValues(game)); held != 1 {
				t.Errorf("%d ms ahead: blocked days %v", ahead, held)
			}
			l.wantDays(t, "turn 1970-01-01", "1970-01-01")

			l.setClock(t, 36*3600*1000)
			cluster.Store(36 * 3600 * 1000)
			testenv.Need(l.Results.Commit(t.Context(), results(duel("m2", 2, "p1"))))(t)
			l.wantDays(t, "turn 1970-01-01", "1970-01-01", "turn 1970-01-02", "1970-01-02")
			if held := testutil.ToFloat64(l.entries.dayClocks.blockedGauge.WithLabelValues(game)); held != 0 {
				t.Errorf("%d ms ahead: blocked days %v at the end", ahead, held)
			}
		}
	})
}

// A clock is corrected on the same day. Then no day must start, and none is blocked, both
// with new results and without.
func TestACorrectedClockUnblocksTheDay(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l, _ := openWithTwoClocks(t, db)
		for id, quiet := range map[string]bool{"m1": true, "m2": false} {
			l.setClock(t, 12*3600*1000+365*dayMS)
			testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
			if held := testutil.ToFloat64(l.entries.dayClocks.blockedGauge.WithLabelValues(game)); held != 1 {
				t.Errorf("quiet %v: blocked days %v while the clock is wrong", quiet, held)
			}
			l.setClock(t, 13*3600*1000)
			if quiet {
				testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
			} else {
				testenv.Need(l.Results.Commit(t.Context(), results(duel(id, 1, "p1"))))(t)
			}
			if held := testutil.ToFloat64(l.entries.dayClocks.blockedGauge.WithLabelValues(game)); held != 0 {
				t.Errorf("quiet %v: blocked days %v", quiet, held)
			}
		}
	})
}

// Clocks that differ a little around midnight let the day start.
func TestSmallClockDifferencesStartTheDay(t *testing.T) {
	t.Parallel()
	l, cluster := openWithTwoClocks(t, testenv.SQL{Dir: t.TempDir()})
	l.setClock(t, dayMS)
	cluster.Store(dayMS - 50*60*1000)
	if !testenv.Need(l.Days.StartNewDays(t.Context(), game))(t) {
		t.Error("50 minutes apart: the day is blocked")
	}
}

// A server that was off for a week starts the missing days without an operator.
func TestAServerThatWasOffForAWeekStartsItsDays(t *testing.T) {
	t.Parallel()
	l, cluster := openWithTwoClocks(t, testenv.SQL{Dir: t.TempDir()})
	l.setClock(t, 7*dayMS)
	cluster.Store(7 * dayMS)
	if testenv.Need(l.Days.StartNewDays(t.Context(), game))(t) {
		t.Error("a running process accepts a jump of both clocks")
	}
	l.entries.dayClocks = newDayClocks(Config{ClusterTime: cluster.Load, Registry: prometheus.NewRegistry()}, 0) // as a new start
	if !testenv.Need(l.Days.StartNewDays(t.Context(), game))(t) || len(l.listDays(t)) != 8 {
		t.Errorf("days %q", l.listDays(t))
	}
}

// An operator confirms a day. Days up to that one start, and no later one.
func TestAConfirmedDayStarts(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l, _ := openWithTwoClocks(t, db)
		l.setClock(t, 5*dayMS)
		for _, day := range []string{"1970-01-02", "1970-01-03"} {
			testenv.NoError(t, l.Days.ConfirmDay(t.Context(), game, day))
		}
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		l.wantDays(t, "turn 1970-01-01", "turn 1970-01-02", "turn 1970-01-03")
	})
}

// newDatabase is a new database like another.
func newDatabase(t *testing.T, db testenv.SQL) testenv.SQL {
	t.Helper()
	if db.URL == "" {
		return testenv.SQL{Dir: t.TempDir()}
	}
	return testenv.Database(t)
}
