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

// openClocks opens a ledger like openWithClock, but also with a cluster time. Both clocks
// show noon of a day.
func openClocks(t *testing.T, db testenv.SQL) (l clocked, cluster *atomic.Int64) {
	t.Helper()
	cluster = new(atomic.Int64)
	cluster.Store(12 * 3600 * 1000)
	l = clocked{openWith(t, Config{
		URL: db.URL, Dir: db.Dir, Zones: map[string]*time.Location{game: time.UTC}, clock: testClock,
		Cluster: cluster.Load, Registry: prometheus.NewRegistry(),
	})}
	for _, text := range []string{"CREATE TABLE test_clock (ms BIGINT)", "INSERT INTO test_clock VALUES (43200000)"} {
		if _, err := l.exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	must(l.Turn(t.Context(), game))(t)
	return l, cluster
}

func (c clocked) wantDays(t *testing.T, want ...string) {
	t.Helper()
	if got := c.days(t); !slices.Equal(got, want) {
		t.Errorf("days %q, want %q", got, want)
	}
}

// The database's clock is a year ahead for a while. No day starts then, results count on
// the current day, and days start normally afterwards.
func TestAWrongClockTurnsNoDay(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		for _, ahead := range []int64{365 * dayMS, 3 * dayMS, dayMS, 500 * 365 * dayMS, dayMS/2 + 2*3600*1000} {
			l, cluster := openClocks(t, onItsOwn(t, db))
			l.set(t, 12*3600*1000+ahead)
			if turned := must(l.Turn(t.Context(), game))(t); turned {
				t.Errorf("%d ms ahead: a day started", ahead)
			}
			must(l.Commit(t.Context(), results(duel("m1", 1, "p1"))))(t)
			if held := testutil.ToFloat64(l.clocks.days.WithLabelValues(game)); held != 1 {
				t.Errorf("%d ms ahead: blocked days %v", ahead, held)
			}
			l.wantDays(t, "turn 1970-01-01", "1970-01-01")

			l.set(t, 36*3600*1000)
			cluster.Store(36 * 3600 * 1000)
			must(l.Commit(t.Context(), results(duel("m2", 2, "p1"))))(t)
			l.wantDays(t, "turn 1970-01-01", "1970-01-01", "turn 1970-01-02", "1970-01-02")
			if held := testutil.ToFloat64(l.clocks.days.WithLabelValues(game)); held != 0 {
				t.Errorf("%d ms ahead: blocked days %v at the end", ahead, held)
			}
		}
	})
}

// A clock is corrected on the same day. Then no day must start, and none is blocked, both
// with new results and without.
func TestACorrectedClockHoldsNoDay(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l, _ := openClocks(t, db)
		for id, quiet := range map[string]bool{"m1": true, "m2": false} {
			l.set(t, 12*3600*1000+365*dayMS)
			must(l.Turn(t.Context(), game))(t)
			if held := testutil.ToFloat64(l.clocks.days.WithLabelValues(game)); held != 1 {
				t.Errorf("quiet %v: blocked days %v while the clock is wrong", quiet, held)
			}
			l.set(t, 13*3600*1000)
			if quiet {
				must(l.Turn(t.Context(), game))(t)
			} else {
				must(l.Commit(t.Context(), results(duel(id, 1, "p1"))))(t)
			}
			if held := testutil.ToFloat64(l.clocks.days.WithLabelValues(game)); held != 0 {
				t.Errorf("quiet %v: blocked days %v", quiet, held)
			}
		}
	})
}

// Clocks that differ a little around midnight let the day start.
func TestClocksALittleApart(t *testing.T) {
	t.Parallel()
	l, cluster := openClocks(t, testenv.SQL{Dir: t.TempDir()})
	l.set(t, dayMS)
	cluster.Store(dayMS - 50*60*1000)
	if !must(l.Turn(t.Context(), game))(t) {
		t.Error("50 minutes apart: the day is blocked")
	}
}

// A server that was off for a week starts the missing days without an operator.
func TestAWeekOff(t *testing.T) {
	t.Parallel()
	l, cluster := openClocks(t, testenv.SQL{Dir: t.TempDir()})
	l.set(t, 7*dayMS)
	cluster.Store(7 * dayMS)
	if must(l.Turn(t.Context(), game))(t) {
		t.Error("a running process accepts a jump of both clocks")
	}
	l.clocks = newDayClocks(Config{Cluster: cluster.Load, Registry: prometheus.NewRegistry()}, 0) // as a new start
	if !must(l.Turn(t.Context(), game))(t) || len(l.days(t)) != 8 {
		t.Errorf("days %q", l.days(t))
	}
}

// An operator confirms a day. Days up to that one start, and no later one.
func TestAConfirmedDayTurns(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l, _ := openClocks(t, db)
		l.set(t, 5*dayMS)
		for _, day := range []string{"1970-01-02", "1970-01-03"} {
			if err := l.ConfirmDay(t.Context(), game, day); err != nil {
				t.Fatal(err)
			}
		}
		must(l.Turn(t.Context(), game))(t)
		must(l.Turn(t.Context(), game))(t)
		l.wantDays(t, "turn 1970-01-01", "turn 1970-01-02", "turn 1970-01-03")
	})
}

// onItsOwn is a new database like another.
func onItsOwn(t *testing.T, db testenv.SQL) testenv.SQL {
	t.Helper()
	if db.URL == "" {
		return testenv.SQL{Dir: t.TempDir()}
	}
	return testenv.Database(t)
}
