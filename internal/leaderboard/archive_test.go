package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// newGameWithPastDay returns a game without rolling windows, whose day boards are deleted
// soon. It also returns the game's first day, which has many entries.
func newGameWithPastDay(t *testing.T) (w *testGame, day string) {
	t.Helper()
	cfg := weightedConfig()
	cfg.Windows = []Window{All, Day}
	w = newTestGame(cfg)
	random := newRandom(21)
	for i := range 60 {
		w.ledger.addResult(Players, fmt.Sprintf("p%d", random.IntN(30)), random.Int64N(12))
		w.ledger.addResult(Teams, fmt.Sprintf("t%d", i%7), random.Int64N(5))
	}
	w.apply(t)
	return w, w.ledger.day()
}

// waitUntilBoardsAreDeleted starts days until the boards of a day are deleted.
func (w *testGame) dropBoards(t *testing.T, day string) {
	t.Helper()
	w.ledger.startDays(3)
	w.apply(t)
	w.maintain(t)
	if oldest := w.servedCopy().state.Oldest; oldest <= day {
		t.Fatalf("the oldest day with boards is %s", oldest)
	}
}

// readAnswers returns the answers of a day's board to many queries, by query.
func (w *testGame) readAnswers(t *testing.T, day string) map[string]Page {
	t.Helper()
	all := map[string]Page{}
	for _, kind := range Kinds() {
		for _, order := range w.cfg.Orders {
			q := Query{Window: Day, Date: day, Kind: kind, Order: order, Limit: 4}
			name := fmt.Sprint(kind, " ", order, " ")
			w.readAllPages(t, all, name, q)
			for _, e := range all[name+"top"].Entries {
				around := q
				around.Around = e.ID
				all[name+"around "+e.ID] = withoutCursors(w.page(t, around))
			}
			q.Players = []string{"p3", "p1", "t2", "nobody", "p29"}
			all[name+"players"] = withoutCursors(w.page(t, q))
		}
	}
	return all
}

// readAllPages reads all pages down and up again.
func (w *testGame) readAllPages(t *testing.T, all map[string]Page, name string, q Query) {
	t.Helper()
	p := w.page(t, q)
	all[name+"top"] = withoutCursors(p)
	for n := 1; p.NextCursor != ""; n++ {
		q.Cursor = p.NextCursor
		p = w.page(t, q)
		all[fmt.Sprint(name, "down ", n)] = withoutCursors(p)
	}
	for n := 1; p.PrevCursor != ""; n++ {
		q.Cursor = p.PrevCursor
		p = w.page(t, q)
		all[fmt.Sprint(name, "up ", n)] = withoutCursors(p)
	}
}

// withoutCursors replaces the cursors of a page by a mark that they exist.
func withoutCursors(p Page) Page {
	for _, c := range []*string{&p.NextCursor, &p.PrevCursor} {
		if *c != "" {
			*c = "there"
		}
	}
	return p
}

func TestAPastDayAnswersLikeItsBoard(t *testing.T) {
	t.Parallel()
	w, day := newGameWithPastDay(t)
	want := w.readAnswers(t, day)
	first := w.page(t, Query{Window: Day, Limit: 4})
	w.dropBoards(t, day)
	have := w.readAnswers(t, day)
	if len(want) != len(have) || len(want) < 100 {
		t.Fatalf("%d answers before, %d after", len(want), len(have))
	}
	for question, page := range want {
		if !reflect.DeepEqual(have[question], page) {
			t.Errorf("%s:\n%+v, want\n%+v", question, have[question], page)
		}
	}
	// A cursor from the open day continues in the archive.
	next := w.page(t, Query{Window: Day, Limit: 4, Cursor: first.NextCursor})
	if !reflect.DeepEqual(withoutCursors(next), want["player value down 1"]) {
		t.Errorf("the next page is %+v, want %+v", next, want["player value down 1"])
	}
	_, err := w.reader.Page(t.Context(), w.cfg.Game, Query{Window: Day, Date: day, Around: "nobody"})
	if !errors.Is(err, ErrNotRanked) {
		t.Errorf("around nobody: %v", err)
	}
}

func TestAPastDayIsCorrectedAtTheNextRead(t *testing.T) {
	t.Parallel()
	w, day := newGameWithPastDay(t)
	w.dropBoards(t, day)
	q := Query{Window: Day, Date: day, Order: ByScore}
	before := w.page(t, q)
	top := before.Entries[0]
	for pos := range w.ledger.rowCount() {
		if w.ledger.rows[pos].Holder == top.ID {
			w.ledger.correct(pos + 1)
		}
	}
	after := w.page(t, q)
	if after.Total != before.Total-1 || after.Entries[0].ID == top.ID {
		t.Errorf("after all results of %s were corrected, the first of %d entries is %+v", top.ID, after.Total, after.Entries[0])
	}
}

func TestDaysWithoutResultsAndOutsideTheLedgerAreEmpty(t *testing.T) {
	t.Parallel()
	w, day := newGameWithPastDay(t)
	quiet := addDays(day, 1)
	w.dropBoards(t, quiet)
	for _, date := range []string{quiet, addDays(day, -9)} {
		if p := w.page(t, Query{Window: Day, Date: date}); p.Total != 0 || len(p.Entries) != 0 || p.From != date || p.To != date {
			t.Errorf("%s: %+v", date, p)
		}
	}
	_, err := w.reader.Page(t.Context(), w.cfg.Game, Query{Window: Day, Date: addDays(w.ledger.day(), 1)})
	if !errors.Is(err, ErrBadQuery) {
		t.Errorf("tomorrow: %v", err)
	}
	_, err = w.reader.Page(t.Context(), w.cfg.Game, Query{Window: Day, Date: addDays(w.ledger.day(), -1), Around: "nobody"})
	if !errors.Is(err, ErrNotRanked) {
		t.Errorf("around nobody on a day that has boards: %v", err)
	}
}

func TestTheArchiveKeepsTheDaysReadLast(t *testing.T) {
	t.Parallel()
	l := newDayLedger()
	var days []string
	for range 4 {
		for i := range 9 {
			l.addResult(Players, fmt.Sprint("p", i), int64(i))
		}
		days = append(days, l.day())
		l.startDays(1)
	}
	a := NewArchive(l)
	a.maxEntries = 2 * 10
	read := func(day string, fetched int) {
		t.Helper()
		before := l.reads
		r, err := a.readRanking(t.Context(), weightedConfig(), View{Game: "demo", Board: Board{Players, day}, Ranking: ByScore})
		if err != nil || len(r.entries) != 9 {
			t.Fatalf("%s: %d entries, %v", day, len(r.entries), err)
		}
		if l.reads-before != fetched {
			t.Errorf("%s was fetched %d times, want %d", day, l.reads-before, fetched)
		}
		if a.size > a.maxEntries && len(a.cached) > 1 || len(a.cached) != a.recent.Len() {
			t.Errorf("%d entries of %d cached days, %d of them in the map", a.size, a.recent.Len(), len(a.cached))
		}
	}
	read(days[0], 1)
	read(days[1], 1)
	read(days[0], 0)
	read(days[2], 1) // replaces the second
	read(days[0], 0)
	read(days[1], 1)
	a.maxEntries = 5 // less than a day
	read(days[3], 1)
	read(days[3], 0)
}

// slowDayStore blocks ReadDaySums until release is closed.
type slowDayStore struct {
	*dayLedger
	release chan struct{}
}

func (s slowDayStore) ReadDaySums(ctx context.Context, game, day string, kind Kind, each func(Sum) error) error {
	select {
	case <-s.release:
		return s.dayLedger.ReadDaySums(ctx, game, day, kind, each)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestConcurrentReadersFetchADayOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := slowDayStore{newDayLedger(), make(chan struct{})}
		slow.addResult(Players, "p", 1)
		day := slow.day()
		slow.startDays(1)
		a := NewArchive(slow)
		read := func(ctx context.Context) error {
			_, err := a.readRanking(ctx, weightedConfig(), View{Game: "demo", Board: Board{Players, day}, Ranking: ByScore})
			return err
		}
		leaving, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := read(leaving); !errors.Is(err, context.Canceled) {
				t.Errorf("the reader that cancelled got %v", err)
			}
		})
		synctest.Wait()
		for range 8 {
			all.Go(func() {
				if err := read(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		leave() // another reader fetches the day
		synctest.Wait()
		close(slow.release)
		all.Wait()
		if slow.reads != 1 {
			t.Errorf("the day was fetched %d times", slow.reads)
		}
	})
}

// fetchCounter counts concurrent fetches.
type fetchCounter struct {
	slowDayStore
	current, max atomic.Int64
}

func (f *fetchCounter) ReadDaySums(ctx context.Context, game, day string, kind Kind, each func(Sum) error) error {
	f.max.Store(max(f.max.Load(), f.current.Add(1)))
	defer f.current.Add(-1)
	return f.slowDayStore.ReadDaySums(ctx, game, day, kind, each)
}

// The size of the cache would not limit the memory of concurrent fetches.
func TestDaysAreFetchedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetchCounter{slowDayStore: slowDayStore{newDayLedger(), make(chan struct{})}}
		f.addResult(Players, "p", 1)
		day := f.day()
		f.startDays(9)
		a := NewArchive(f)
		var all sync.WaitGroup
		for n := range 9 {
			all.Go(func() {
				_, err := a.readRanking(t.Context(), weightedConfig(), View{Game: "demo", Board: Board{Players, addDays(day, n)}, Ranking: ByScore})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(f.release)
		all.Wait()
		if most := f.max.Load(); most != 1 || f.reads != 9 {
			t.Errorf("%d days were fetched, %d at the same time", f.reads, most)
		}
	})
}

// changingDays has another version at every read.
type changingDays struct{ *dayLedger }

func (r changingDays) DayVersion(context.Context, string, string) (int64, error) {
	r.versions[""]++
	return r.versions[""], nil
}

func TestADayThatIsCorrectedAllTheTimeIsNotReady(t *testing.T) {
	t.Parallel()
	a := NewArchive(changingDays{newDayLedger()})
	_, err := a.readRanking(t.Context(), weightedConfig(), View{Board: Board{Players, "2026-11-20"}, Ranking: ByScore})
	if !errors.Is(err, ErrNotReady) {
		t.Errorf("%v", err)
	}
	l := newDayLedger()
	l.setError(errKilled)
	if _, err := NewArchive(l).readRanking(t.Context(), weightedConfig(), View{}); !errors.Is(err, errKilled) {
		t.Errorf("without a ledger: %v", err)
	}
}
