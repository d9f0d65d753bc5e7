package ledger

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

// clockLedger is a ledger whose database's clock stands where the test sets it: the
// expression for the clock reads it from a table.
type clockLedger struct{ *Ledger }

const testClock = "(SELECT ms FROM test_clock)"

func openWithClock(t *testing.T, db testenv.SQL, zone *time.Location) clockLedger {
	t.Helper()
	l := openConfig(t, Config{
		URL: db.URL, Dir: db.Dir, TimeZones: map[string]*time.Location{game: zone},
		clockSQL: testClock,
	})
	for _, text := range []string{"CREATE TABLE test_clock (ms BIGINT)", "INSERT INTO test_clock VALUES (0)"} {
		if _, err := l.exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	return clockLedger{l}
}

func (c clockLedger) setClock(t *testing.T, ms int64) {
	t.Helper()
	if _, err := c.exec(t.Context(), "UPDATE test_clock SET ms = $1", ms); err != nil {
		t.Fatal(err)
	}
}

// listDays returns the day of each entry of the game, with a mark for entries that start a
// day.
func (c clockLedger) listDays(t *testing.T) []string {
	t.Helper()
	var days []string
	for _, r := range testenv.Need(c.Leaderboards.ReadRows(t.Context(), game, 0, 1000))(t) {
		if r.Kind == leaderboard.DayStartRow {
			r.Day = "turn " + r.Day
		}
		days = append(days, r.Day)
	}
	return days
}

func TestDaysStartAtMidnightOfTheTimeZone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, zone string
		commits    []string // instants, UTC
		want       []string
	}{
		{"utc", "UTC", []string{"2026-11-20T23:59:59.999Z", "2026-11-21T00:00:00Z"},
			[]string{"turn 2026-11-20", "2026-11-20", "turn 2026-11-21", "2026-11-21"}},
		{"days on which nothing happened", "UTC", []string{"2028-02-27T12:00:00Z", "2028-03-01T12:00:00Z"},
			[]string{"turn 2028-02-27", "2028-02-27", "turn 2028-02-28", "turn 2028-02-29", "turn 2028-03-01", "2028-03-01"}},
		{"a day of 23 hours", "Europe/Berlin", []string{"2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z"},
			[]string{"turn 2026-03-29", "2026-03-29", "2026-03-29", "turn 2026-03-30", "2026-03-30"}},
		{"a day of 25 hours", "Europe/Berlin", []string{"2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z"},
			[]string{"turn 2026-10-25", "2026-10-25", "2026-10-25", "turn 2026-10-26", "2026-10-26"}},
		// Midnight did not exist: clocks went from 23:59:59 to 01:00.
		{"a day that begins at one", "America/Sao_Paulo", []string{"2018-11-04T02:59:59Z", "2018-11-04T03:00:00Z"},
			[]string{"turn 2018-11-03", "2018-11-03", "turn 2018-11-04", "2018-11-04"}},
		// Clocks went from 00:01 back to 23:01 on the day before: the first midnight counts.
		{"a midnight that came twice", "America/St_Johns", []string{"2009-11-01T02:30:59Z", "2009-11-01T02:31:00Z", "2009-11-01T03:30:00Z"},
			[]string{"turn 2009-11-01", "2009-11-01", "2009-11-01", "2009-11-01"}},
		{"a date that the zone skipped", "Pacific/Apia", []string{"2011-12-30T09:59:59Z", "2011-12-30T10:00:00Z"},
			[]string{"turn 2011-12-29", "2011-12-29", "turn 2011-12-30", "turn 2011-12-31", "2011-12-31"}},
		{"a clock that was set back", "UTC", []string{"2026-11-21T00:00:01Z", "2026-11-20T23:59:59Z", "2026-11-22T00:00:00Z"},
			[]string{"turn 2026-11-21", "2026-11-21", "2026-11-21", "turn 2026-11-22", "2026-11-22"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			zone := testenv.Need(time.LoadLocation(c.zone))(t)
			testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
				t.Parallel()
				l := openWithClock(t, db, zone)
				for i, at := range c.commits {
					l.setClock(t, testenv.Need(time.Parse(time.RFC3339Nano, at))(t).UnixMilli())
					testenv.Need(l.Results.Commit(t.Context(), results(duel("m"+at, int64(i), "p1"))))(t)
				}
				if got := l.listDays(t); !slices.Equal(got, c.want) {
					t.Errorf("days %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestAGameWithoutResultsStartsDays(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		const day = 24 * 3600 * 1000
		for _, step := range []struct {
			now  int64
			want bool
		}{{0, true}, {0, false}, {day - 1, false}, {day, true}, {day - 1, false}, {3 * day, true}} {
			l.setClock(t, step.now)
			if turned := testenv.Need(l.Days.StartNewDays(t.Context(), game))(t); turned != step.want {
				t.Errorf("at %d: started days: %v", step.now, turned)
			}
		}
		want := []string{"turn 1970-01-01", "turn 1970-01-02", "turn 1970-01-03", "turn 1970-01-04"}
		if got := l.listDays(t); !slices.Equal(got, want) {
			t.Errorf("days %q, want %q", got, want)
		}
		rows := testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, 3, 10))(t)
		head := readHead(t, l.Ledger)
		if want := (leaderboard.Watermark{Epoch: l.Epoch(), Pos: 4, RowID: rows[0].ID, Day: "1970-01-04"}); head != want {
			t.Errorf("head %+v, want %+v", head, want)
		}
	})
}

func TestConcurrentNodesStartADayOnce(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		runConcurrently(10, func(int) {
			if _, err := l.Days.StartNewDays(t.Context(), game); err != nil {
				t.Error(err)
			}
		})
		if got := l.listDays(t); !slices.Equal(got, []string{"turn 1970-01-01"}) {
			t.Errorf("days %q", got)
		}
	})
}

func TestAClockAHundredYearsAheadStartsNoDay(t *testing.T) {
	t.Parallel()
	l := openWithClock(t, testenv.SQL{Dir: t.TempDir()}, time.UTC)
	testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
	l.setClock(t, time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	if testenv.Need(l.Days.StartNewDays(t.Context(), game))(t) {
		t.Fatal("five centuries of days were started")
	}
	if got := l.listDays(t); len(got) != 1 {
		t.Errorf("%d entries", len(got))
	}
}

// The real clock of both databases is epoch milliseconds now.
func TestTheDatabaseClockIsEpochMilliseconds(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		before := time.Now().UnixMilli()
		r := duel("m1", 1, "p1")
		testenv.Need(l.Results.Commit(t.Context(), results(r)))(t)
		if at := readEntries(t, l, r).committedAt; at < before-2 || at > time.Now().UnixMilli()+2 {
			t.Errorf("committed at %d, the clock here said %d before", at, before)
		}
	})
}
