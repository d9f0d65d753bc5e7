package leaderboard

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// DaySumSource reads the results of past days from the ledger, summed per holder.
type DayStore interface {
	// DayVersion returns a new number whenever the sums of a day have changed.
	DayVersion(ctx context.Context, game, day string) (int64, error)
	// ReadDaySums calls each once per holder of a kind with results on the day, in
	// ascending byte order of the ids. It stops at the first error of each and returns it.
	ReadDaySums(ctx context.Context, game, day string, kind Kind, each func(Sum) error) error
}

const (
	archiveEntries = 1 << 20 // maximum number of cached entries, about 100 bytes each
	fetchTries     = 4       // tries to read a day that corrections change during the read
)

// Archive ranks past days whose boards were deleted, from the sums in the ledger. It
// caches the days that were read last: at most maxEntries entries, or one larger day.
// Each read checks the day's version, so a cached day is never stale. Safe for
// concurrent use: concurrent readers of a day share one check.
type Archive struct {
	days       DayStore
	maxEntries int     // limit of entryCount
	fetchLock  ctxLock // one fetch at a time, to limit the memory

	mu     sync.Mutex
	cached map[dayKey]*list.Element
	recent *list.List // of *cachedDay, the most recently read first
	size   int        // entries of all cached days
}

// dayKey identifies the entries of one kind on one day.
type dayKey struct {
	game, day string
	kind      Kind
}

// cachedDay is a cache entry for one kind on one day. day is nil until the first refresh.
type cachedDay struct {
	key         dayKey
	refreshOnce *singleflight
	day         atomic.Pointer[pastDay]
	size        int // guarded by the archive's mutex
}

// NewArchive returns an archive with an empty cache.
func NewArchive(days DayStore) *Archive {
	return &Archive{days: days, maxEntries: archiveEntries, fetchLock: newCtxLock(), cached: map[dayKey]*list.Element{}, recent: list.New()}
}

// readRanking returns a past day in the requested order. The span must be a date.
func (a *Archive) readRanking(ctx context.Context, cfg Config, v View) (ranking, error) {
	s := a.cachedDay(dayKey{v.Game, v.Board.Span, v.Board.Kind})
	err := s.refreshOnce.do(ctx, func() error { return a.refresh(ctx, s) })
	if err != nil {
		return ranking{}, fmt.Errorf("read the leaderboard of %s: %w", v.Board.Span, err)
	}
	return s.day.Load().ranking(cfg, v.Ranking), nil
}

// cachedDay returns the cache entry of a day. It adds an empty one if there is none.
func (a *Archive) cachedDay(key dayKey) *cachedDay {
	a.mu.Lock()
	defer a.mu.Unlock()
	element, found := a.cached[key]
	if !found {
		element = a.recent.PushFront(&cachedDay{key: key, refreshOnce: newSingleflight()})
		a.cached[key] = element
	}
	a.recent.MoveToFront(element)
	return element.Value.(*cachedDay)
}

// refresh reads the day from the ledger unless the cached version is current.
func (a *Archive) refresh(ctx context.Context, s *cachedDay) error {
	version, err := a.days.DayVersion(ctx, s.key.game, s.key.day)
	if err != nil {
		return err
	}
	if day := s.day.Load(); day != nil && day.version == version {
		return nil
	}
	if err := a.fetchLock.lock(ctx); err != nil {
		return err
	}
	defer a.fetchLock.unlock()
	day, err := a.readDay(ctx, s.key, version)
	if err != nil {
		return err
	}
	s.day.Store(day)
	a.evictDays(s, 1+len(day.newest))
	return nil
}

// readDay reads a day whose version was just read. It reads again if the version changes
// during the read, at most maxFetchTries times.
func (a *Archive) readDay(ctx context.Context, key dayKey, version int64) (*pastDay, error) {
	for range fetchTries {
		day := &pastDay{version: version, orders: map[orderKey][]uint32{}}
		if err := a.days.ReadDaySums(ctx, key.game, key.day, key.kind, day.add); err != nil {
			return nil, err
		}
		after, err := a.days.DayVersion(ctx, key.game, key.day)
		if err != nil {
			return nil, err
		}
		if after == version {
			return day, nil
		}
		version = after
	}
	return nil, fmt.Errorf("%w: the day was corrected during every read", ErrNotReady)
}

// trimCache records the new number of entries of a cached day. While the cache is too
// large, it removes the days that were read longest ago, but never this one.
func (a *Archive) evictDays(s *cachedDay, size int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if element, found := a.cached[s.key]; !found || element.Value != s {
		return // another caller removed it
	}
	a.size += size - s.size
	s.size = size
	for element := a.recent.Back(); element != nil && a.size > a.maxEntries; {
		candidate, previous := element.Value.(*cachedDay), element.Prev()
		if candidate != s {
			a.recent.Remove(element)
			delete(a.cached, candidate.key)
			a.size -= candidate.size
		}
		element = previous
	}
}
