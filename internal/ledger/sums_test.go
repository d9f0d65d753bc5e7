package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

// Several past days without sums, some of them empty, are summed together. The open day
// is not summed.
func TestSumDaysSumsPastDays(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		l.Days.sumPageSize = 3
		if n := testenv.Need(l.Days.SumDays(t.Context(), game))(t); n != 0 {
			t.Errorf("%d days of an empty ledger", n)
		}
		for _, day := range []int64{0, 3, 5} {
			l.setClock(t, day*dayMS)
			id := fmt.Sprint("m", day)
			testenv.Need(l.Results.Commit(t.Context(), results(duel(id, 1, "p1", "p2"), duel(id+"b", 1, "p1", "p3"))))(t)
		}
		before := readSnapshot(t, l.Ledger)
		if n := testenv.Need(l.Days.SumDays(t.Context(), game))(t); n != 5 {
			t.Errorf("%d days, want 5", n)
		}
		if n := testenv.Need(l.Days.SumDays(t.Context(), game))(t); n != 0 {
			t.Errorf("%d days the second time", n)
		}
		for day, want := range map[string]bool{"1970-01-01": true, "1970-01-05": true, "1970-01-06": false, "1970-01-07": false} {
			if got := testenv.Need(l.Leaderboards.HasDaySums(t.Context(), game, day))(t); got != want {
				t.Errorf("%s summed: %v", day, got)
			}
		}
		if after := readSnapshot(t, l.Ledger); !slices.Equal(after, before) || len(after) != 9 {
			t.Errorf("snapshot %+v, before the days were summed %+v", after, before)
		}
		checkSums(t, l.Ledger)
	})
}

// A snapshot shows one moment, whatever is committed, corrected and summed while it is
// read.
func TestSnapshotIsOneMoment(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, "p1", "p2"))))(t)
		head := readHead(t, l.Ledger)
		var got []leaderboard.DaySum
		err := l.Leaderboards.Snapshot(t.Context(), game, func(s leaderboard.Snapshot) error {
			if s.Watermark != head || s.FirstDay != "1970-01-01" {
				t.Errorf("mark %+v of %+v, first %s", s.Watermark, head, s.FirstDay)
			}
			l.setClock(t, dayMS)
			testenv.Need(l.Results.Commit(t.Context(), results(duel("m2", 1, "p1", "p3"))))(t)
			disqualify(t, l.Ledger, "m1", "p1")
			testenv.Need(l.Days.SumDays(t.Context(), game))(t)
			for sum, err := range s.Sums {
				got = append(got, sum)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(got) != 2 || got[0].Newest != 2 || got[1].Newest != 3 {
			t.Errorf("%+v, %v", got, err)
		}
		if err := l.Leaderboards.Snapshot(t.Context(), game, func(leaderboard.Snapshot) error { return errors.New("enough") }); err == nil {
			t.Error("the error of the work is lost")
		}
		if err := l.Leaderboards.Snapshot(t.Context(), "other", func(s leaderboard.Snapshot) error {
			if s.Watermark.Pos != 0 || s.FirstDay != "" {
				t.Errorf("snapshot of an empty ledger %+v", s)
			}
			for sum, err := range s.Sums {
				t.Errorf("%+v, %v", sum, err)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}

// Nodes that sum the same days at the same time share the work.
func TestConcurrentNodesShareTheDaysToSum(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		l.Days.sumPageSize = 2
		for i := range 20 {
			testenv.Need(l.Results.Commit(t.Context(), results(duel(fmt.Sprint("m", i), 1, "p1", "p2"))))(t)
		}
		l.setClock(t, 2*dayMS)
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		ended := make([]int, 5)
		runConcurrently(len(ended), func(i int) {
			var err error
			if ended[i], err = l.Days.SumDays(t.Context(), game); err != nil {
				t.Error(err)
			}
		})
		if slices.Sort(ended); ended[0]+ended[1]+ended[2]+ended[3]+ended[4] != 2 {
			t.Errorf("days ended %v, want 2 in all", ended)
		}
		checkSums(t, l.Ledger)
	})
}

// After a canceled call, the finished sums stay, and the next call continues.
func TestSumDaysContinuesAfterACanceledContext(t *testing.T) {
	t.Parallel()
	l := openWithClock(t, testenv.SQL{Dir: t.TempDir()}, time.UTC)
	l.Days.sumPageSize = 1
	testenv.Need(l.Results.Commit(t.Context(), results(duel("m", 1, names("p", 100)...))))(t)
	l.setClock(t, dayMS)
	testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := l.Days.SumDays(ctx, game); n != 0 || !IsUnavailable(err) {
		t.Errorf("%d days, %v", n, err)
	}
	testenv.Need(l.Days.SumDays(t.Context(), game))(t)
	checkSums(t, l.Ledger)
}

const sumDir = "LASTSTAND_LEDGER_SUM_DIR"

// TestSumUntilKilled is the process that TestAKilledProcessSumsNothingTwice kills. When
// it is run directly, it does nothing.
func TestSumUntilKilled(t *testing.T) {
	dir := os.Getenv(sumDir)
	if dir == "" {
		return
	}
	l := openConfig(t, Config{Dir: dir, sumPageSize: 1})
	for {
		d, over, err := l.Days.nextUnsummed(t.Context(), game)
		if err != nil || !over {
			t.Fatal("all is summed", err)
		}
		testenv.Need(l.Days.sumNextPage(t.Context(), d))(t)
		fmt.Println("committed", d.startPos)
	}
}

// A process that is killed while it sums a day has summed no entry twice.
func TestAKilledProcessSumsNothingTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openWithClock(t, testenv.SQL{Dir: dir}, time.UTC)
	var batch = results()
	for i := range 300 {
		batch = append(batch, duel(fmt.Sprint("m", i), 1, "p1", "p2"))
	}
	testenv.Need(l.Results.Commit(t.Context(), batch))(t)
	l.setClock(t, dayMS)
	testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
	killAfterLines(t, "TestSumUntilKilled", sumDir+"="+dir, 20)
	if testenv.Need(l.Leaderboards.HasDaySums(t.Context(), game, "1970-01-01"))(t) {
		t.Fatal("the process was killed too late")
	}
	disqualify(t, l.Ledger, "m1", "")
	disqualify(t, l.Ledger, "m299", "p1")
	testenv.Need(l.Days.SumDays(t.Context(), game))(t)
	checkSums(t, l.Ledger)
}

// A day starts and ends by the clocks of its time zone, also if these are changed on that
// day.
func TestADayWithAClockChangeIsSummed(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, testenv.Need(time.LoadLocation("Europe/Berlin"))(t))
		for i, at := range []string{"2026-10-24T21:59:59Z", "2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z"} {
			l.setClock(t, testenv.Need(time.Parse(time.RFC3339, at))(t).UnixMilli())
			testenv.Need(l.Results.Commit(t.Context(), results(duel(fmt.Sprint("m", i), 1, "p1"))))(t)
		}
		testenv.Need(l.Days.SumDays(t.Context(), game))(t)
		for day, want := range map[string]int64{"2026-10-24": 1, "2026-10-25": 2, "2026-10-26": 1} {
			if got := readDaySums(t, l.Ledger, day, leaderboard.Players); len(got) != 1 || got[0].Aggregates.Matches != want {
				t.Errorf("%s: %+v, want %d matches", day, got, want)
			}
		}
	})
}
