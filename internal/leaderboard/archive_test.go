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

// kept is a game whose boards keep few days, with a day of many entries: the
// first.
func kept(t *testing.T) (w *world, day string) {
	t.Helper()
	cfg := weighted()
	cfg.Windows = []Window{All, Day}
	w = newWorld(cfg)
	random := seeded(21)
	for i := range 60 {
		w.ledger.result(Players, fmt.Sprintf("p%d", random.IntN(30)), random.Int64N(12))
		w.ledger.result(Teams, fmt.Sprintf("t%d", i%7), random.Int64N(5))
	}
	w.apply(t)
	return w, w.ledger.day()
}

// leave turns days until the boards of a day have left.
func (w *world) leave(t *testing.T, day string) {
	t.Helper()
	w.ledger.turns(3)
	w.apply(t)
	w.tend(t)
	if oldest := w.served().state.Oldest; oldest <= day {
		t.Fatalf("the oldest boards are of %s", oldest)
	}
}

// answers are what a day's board says to every question, by the question.
func (w *world) answers(t *testing.T, day string) map[string]Page {
	t.Helper()
	all := map[string]Page{}
	for _, kind := range Kinds() {
		for _, order := range w.cfg.Orders {
			q := Query{Window: Day, Date: day, Kind: kind, Order: order, Limit: 4}
			name := fmt.Sprint(kind, " ", order, " ")
			w.leaf(t, all, name, q)
			for _, e := range all[name+"top"].Entries {
				around := q
				around.Around = e.ID
				all[name+"around "+e.ID] = uncut(w.page(t, around))
			}
			q.Players = []string{"p3", "p1", "t2", "nobody", "p29"}
			all[name+"players"] = uncut(w.page(t, q))
		}
	}
	return all
}

// leaf reads all pages down and up again.
func (w *world) leaf(t *testing.T, all map[string]Page, name string, q Query) {
	t.Helper()
	p := w.page(t, q)
	all[name+"top"] = uncut(p)
	for n := 1; p.NextCursor != ""; n++ {
		q.Cursor = p.NextCursor
		p = w.page(t, q)
		all[fmt.Sprint(name, "down ", n)] = uncut(p)
	}
	for n := 1; p.PrevCursor != ""; n++ {
		q.Cursor = p.PrevCursor
		p = w.page(t, q)
		all[fmt.Sprint(name, "up ", n)] = uncut(p)
	}
}

// uncut is a page without its cursors' texts: only whether there are any.
func uncut(p Page) Page {
	for _, c := range []*string{&p.NextCursor, &p.PrevCursor} {
		if *c != "" {
			*c = "there"
		}
	}
	return p
}

func TestAPastDayAnswersWhatItsBoardDid(t *testing.T) {
	t.Parallel()
	w, day := kept(t)
	want := w.answers(t, day)
	first := w.page(t, Query{Window: Day, Limit: 4})
	w.leave(t, day)
	have := w.answers(t, day)
	if len(want) != len(have) || len(want) < 100 {
		t.Fatalf("%d questions before, %d after", len(want), len(have))
	}
	for question, page := range want {
		if !reflect.DeepEqual(have[question], page) {
			t.Errorf("%s:\n%+v, want\n%+v", question, have[question], page)
		}
	}
	// A cursor from when the day was open goes on in the archive.
	next := w.page(t, Query{Window: Day, Limit: 4, Cursor: first.NextCursor})
	if !reflect.DeepEqual(uncut(next), want["player value down 1"]) {
		t.Errorf("the next page is %+v, want %+v", next, want["player value down 1"])
	}
	_, err := w.reader.Page(t.Context(), w.cfg.Game, Query{Window: Day, Date: day, Around: "nobody"})
	if !errors.Is(err, ErrNotRanked) {
		t.Errorf("around nobody: %v", err)
	}
}

func TestAPastDayIsCorrectedAtTheNextRead(t *testing.T) {
	t.Parallel()
	w, day := kept(t)
	w.leave(t, day)
	q := Query{Window: Day, Date: day, Order: ByScore}
	before := w.page(t, q)
	top := before.Entries[0]
	for pos := range w.ledger.size() {
		if w.ledger.rows[pos].Holder == top.ID {
			w.ledger.correct(pos + 1)
		}
	}
	after := w.page(t, q)
	if after.Total != before.Total-1 || after.Entries[0].ID == top.ID {
		t.Errorf("after all of %s was taken back the first of %d is %+v", top.ID, after.Total, after.Entries[0])
	}
}

func TestDaysWithoutResultsAndOutsideTheLedgerAreEmpty(t *testing.T) {
	t.Parallel()
	w, day := kept(t)
	quiet := addDays(day, 1)
	w.leave(t, quiet)
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
	l := newAnnals()
	var days []string
	for range 4 {
		for i := range 9 {
			l.result(Players, fmt.Sprint("p", i), int64(i))
		}
		days = append(days, l.day())
		l.turns(1)
	}
	a := NewArchive(l)
	a.keep = 2 * 10
	read := func(day string, fetched int) {
		t.Helper()
		before := l.reads
		r, err := a.ranking(t.Context(), weighted(), View{Game: "demo", Board: Board{Players, day}, Ranking: ByScore})
		if err != nil || len(r.entries) != 9 {
			t.Fatalf("%s: %d entries, %v", day, len(r.entries), err)
		}
		if l.reads-before != fetched {
			t.Errorf("%s was fetched %d times, want %d", day, l.reads-before, fetched)
		}
		if a.size > a.keep && len(a.shelves) > 1 || len(a.shelves) != a.recent.Len() {
			t.Errorf("%d entries on %d shelves, %d of them named", a.size, a.recent.Len(), len(a.shelves))
		}
	}
	read(days[0], 1)
	read(days[1], 1)
	read(days[0], 0)
	read(days[2], 1) // in the place of the second
	read(days[0], 0)
	read(days[1], 1)
	a.keep = 5 // less than a day
	read(days[3], 1)
	read(days[3], 0)
}

// slowDays hold DaySums up until let.
type slowDays struct {
	*annals
	let chan struct{}
}

func (s slowDays) DaySums(ctx context.Context, game, day string, whose Kind, each func(Sum) error) error {
	select {
	case <-s.let:
		return s.annals.DaySums(ctx, game, day, whose, each)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestADayIsFetchedOnceForAllWhoAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := slowDays{newAnnals(), make(chan struct{})}
		slow.result(Players, "p", 1)
		day := slow.day()
		slow.turns(1)
		a := NewArchive(slow)
		read := func(ctx context.Context) error {
			_, err := a.ranking(ctx, weighted(), View{Game: "demo", Board: Board{Players, day}, Ranking: ByScore})
			return err
		}
		leaving, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := read(leaving); !errors.Is(err, context.Canceled) {
				t.Errorf("who left got %v", err)
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
		leave() // another one fetches
		synctest.Wait()
		close(slow.let)
		all.Wait()
		if slow.reads != 1 {
			t.Errorf("the day was fetched %d times", slow.reads)
		}
	})
}

// fetching counts who fetches at the same moment.
type fetching struct {
	slowDays
	now, most atomic.Int64
}

func (f *fetching) DaySums(ctx context.Context, game, day string, whose Kind, each func(Sum) error) error {
	f.most.Store(max(f.most.Load(), f.now.Add(1)))
	defer f.now.Add(-1)
	return f.slowDays.DaySums(ctx, game, day, whose, each)
}

// What is being fetched is not bounded by what is kept.
func TestManyDaysAreFetchedOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetching{slowDays: slowDays{newAnnals(), make(chan struct{})}}
		f.result(Players, "p", 1)
		day := f.day()
		f.turns(9)
		a := NewArchive(f)
		var all sync.WaitGroup
		for n := range 9 {
			all.Go(func() {
				_, err := a.ranking(t.Context(), weighted(), View{Game: "demo", Board: Board{Players, addDays(day, n)}, Ranking: ByScore})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(f.let)
		all.Wait()
		if most := f.most.Load(); most != 1 || f.reads != 9 {
			t.Errorf("%d days were fetched, %d at a moment", f.reads, most)
		}
	})
}

// restless days are another at every look.
type restless struct{ *annals }

func (r restless) DayVersion(context.Context, string, string) (int64, error) {
	r.versions[""]++
	return r.versions[""], nil
}

func TestADayThatIsCorrectedAllTheTimeIsNotReady(t *testing.T) {
	t.Parallel()
	a := NewArchive(restless{newAnnals()})
	_, err := a.ranking(t.Context(), weighted(), View{Board: Board{Players, "2026-11-20"}, Ranking: ByScore})
	if !errors.Is(err, ErrNotReady) {
		t.Errorf("%v", err)
	}
	l := newAnnals()
	l.fail(errKilled)
	if _, err := NewArchive(l).ranking(t.Context(), weighted(), View{}); !errors.Is(err, errKilled) {
		t.Errorf("without a ledger: %v", err)
	}
}
