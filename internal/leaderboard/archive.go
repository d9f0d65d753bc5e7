package leaderboard

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// DayStore is what the ledger keeps of the days that are over.
type DayStore interface {
	// DayVersion returns another number whenever the sums of a day have changed.
	DayVersion(ctx context.Context, game, day string) (int64, error)
	// DaySums calls each for every holder of a kind that has something from
	// the day, ascending in bytes, and stops with its error.
	DaySums(ctx context.Context, game, day string, whose Kind, each func(Sum) error) error
}

const (
	archiveEntries = 1 << 20 // kept at most, some 100 bytes each: days that were read last
	fetchTries     = 4       // of a day that corrections change while it is read
)

// Archive ranks days whose boards have left, by what the ledger keeps of them.
// It holds the days that were read last, up to so many entries, or one day with
// more, and besides the one being fetched, and asks at every read whether the day
// is still the same. Safe for concurrent use: readers of a day at the same time
// share the asking.
type Archive struct {
	days  DayStore
	keep  int  // entries
	fetch door // whatever is asked for, memory holds

	mu      sync.Mutex
	shelves map[dayOf]*list.Element
	recent  *list.List // of *shelf, the one read last in front
	size    int        // of all shelves
}

// dayOf names the entries of one kind of a day.
type dayOf struct {
	game, day string
	whose     Kind
}

// shelf holds one day, nothing at first.
type shelf struct {
	of    dayOf
	turns *turnstile
	day   atomic.Pointer[pastDay]
	size  int // guarded by the archive's mutex
}

// NewArchive returns an empty archive of the days that days has.
func NewArchive(days DayStore) *Archive {
	return &Archive{days: days, keep: archiveEntries, fetch: newDoor(), shelves: map[dayOf]*list.Element{}, recent: list.New()}
}

// ranking returns the day of a view, which is over, in the view's order.
func (a *Archive) ranking(ctx context.Context, cfg Config, v View) (ranking, error) {
	s := a.take(dayOf{v.Game, v.Board.Span, v.Board.Kind})
	err := s.turns.do(ctx, func() error { return a.refresh(ctx, s) })
	if err != nil {
		return ranking{}, fmt.Errorf("read the leaderboard of %s: %w", v.Board.Span, err)
	}
	return s.day.Load().ranking(cfg, v.Ranking), nil
}

// take returns the shelf of a day, a new one where there is none.
func (a *Archive) take(of dayOf) *shelf {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, kept := a.shelves[of]
	if !kept {
		at = a.recent.PushFront(&shelf{of: of, turns: newTurnstile()})
		a.shelves[of] = at
	}
	a.recent.MoveToFront(at)
	return at.Value.(*shelf)
}

// refresh fetches the day of a shelf unless it is there and the same still.
func (a *Archive) refresh(ctx context.Context, s *shelf) error {
	version, err := a.days.DayVersion(ctx, s.of.game, s.of.day)
	if err != nil {
		return err
	}
	if day := s.day.Load(); day != nil && day.version == version {
		return nil
	}
	if err := a.fetch.enter(ctx); err != nil {
		return err
	}
	defer a.fetch.leave()
	day, err := a.read(ctx, s.of, version)
	if err != nil {
		return err
	}
	s.day.Store(day)
	a.makeRoom(s, 1+len(day.newest))
	return nil
}

// read reads a day that had that version just now.
func (a *Archive) read(ctx context.Context, of dayOf, version int64) (*pastDay, error) {
	for range fetchTries {
		day := &pastDay{version: version, orders: map[orderOf][]uint32{}}
		if err := a.days.DaySums(ctx, of.game, of.day, of.whose, day.add); err != nil {
			return nil, err
		}
		now, err := a.days.DayVersion(ctx, of.game, of.day)
		if err != nil {
			return nil, err
		}
		if now == version {
			return day, nil
		}
		version = now
	}
	return nil, fmt.Errorf("%w: its day is being corrected", ErrNotReady)
}

// makeRoom accounts for a shelf's new size, and lets the days go that were
// read the longest ago, but never that one.
func (a *Archive) makeRoom(s *shelf, size int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, kept := a.shelves[s.of]; !kept || at.Value != s {
		return // it had to go meanwhile
	}
	a.size += size - s.size
	s.size = size
	for at := a.recent.Back(); at != nil && a.size > a.keep; {
		old, before := at.Value.(*shelf), at.Prev()
		if old != s {
			a.recent.Remove(at)
			delete(a.shelves, old.of)
			a.size -= old.size
		}
		at = before
	}
}
