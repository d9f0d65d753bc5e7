package leaderboard

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// DaySumSource reads the results of past days from the ledger, summed per holder.
type DaySumSource interface {
	// DayVersion returns a new number whenever the sums of a day have changed.
	DayVersion(ctx context.Context, game, day string) (int64, error)
	// ReadDaySums calls each once per holder of a kind with results on the day, in
	// ascending byte order of the ids. It stops at the first error of each and returns it.
	ReadDaySums(ctx context.Context, game, day string, kind Kind, each func(DaySum) error) error
}

const (
	maxArchiveEntries = 1 << 20 // maximum number of cached entries, about 100 bytes each
	maxFetchTries     = 4       // tries to read a day that corrections change during the read
)

// Archive ranks past days whose boards were deleted, from the sums in the ledger. It
// caches the days that were read last: at most maxEntries entries, or one larger day.
// Each read checks the day's version, so a cached day is never stale. Safe for
// concurrent use: concurrent readers of a day share one check.
type Archive struct {
	sums       DaySumSource
	maxEntries int     // limit of entryCount
	fetchLock  ctxLock // one fetch at a time, to limit the memory

	mu         sync.Mutex
	cached     map[dayKey]*list.Element
	byRecency  *list.List // of *cachedDay, the most recently read first
	entryCount int        // entries of all cached days
}

// dayKey identifies the entries of one kind on one day.
type dayKey struct {
	game, day string
	kind      Kind
}

// cachedDay is a cache entry for one kind on one day. day is nil until the first refresh.
type cachedDay struct {
	key          dayKey
	refreshCalls *singleflight
	day          atomic.Pointer[pastDay]
	entryCount   int // guarded by the archive's mutex
}

// NewArchive returns an archive with an empty cache.
func NewArchive(sums DaySumSource) *Archive {
	return &Archive{sums: sums, maxEntries: maxArchiveEntries, fetchLock: newCtxLock(), cached: map[dayKey]*list.Element{}, byRecency: list.New()}
}

// readRanking returns a past day in the requested order. The span must be a date.
func (a *Archive) readRanking(ctx context.Context, cfg Config, rankingID RankingID) (ranking, error) {
	cached := a.findOrAddDay(dayKey{rankingID.Game, rankingID.Board.Span, rankingID.Board.Kind})
	err := cached.refreshCalls.do(ctx, func() error { return a.refresh(ctx, cached) })
	if err != nil {
		return ranking{}, fmt.Errorf("read the leaderboard of %s: %w", rankingID.Board.Span, err)
	}
	return cached.day.Load().rankingFor(cfg, rankingID.Order), nil
}

// findOrAddDay returns the cache entry of a day. It adds an empty one if there is none.
func (a *Archive) findOrAddDay(key dayKey) *cachedDay {
	a.mu.Lock()
	defer a.mu.Unlock()
	element, found := a.cached[key]
	if !found {
		element = a.byRecency.PushFront(&cachedDay{key: key, refreshCalls: newSingleflight()})
		a.cached[key] = element
	}
	a.byRecency.MoveToFront(element)
	return element.Value.(*cachedDay)
}

// refresh reads the day from the ledger unless the cached version is current.
func (a *Archive) refresh(ctx context.Context, cached *cachedDay) error {
	version, err := a.sums.DayVersion(ctx, cached.key.game, cached.key.day)
	if err != nil {
		return err
	}
	if day := cached.day.Load(); day != nil && day.version == version {
		return nil
	}
	if err := a.fetchLock.lock(ctx); err != nil {
		return err
	}
	defer a.fetchLock.unlock()
	day, err := a.readDay(ctx, cached.key, version)
	if err != nil {
		return err
	}
	cached.day.Store(day)
	a.trimCache(cached, 1+len(day.newest))
	return nil
}

// readDay reads a day whose version was just read. It reads again if the version changes
// during the read, at most maxFetchTries times.
func (a *Archive) readDay(ctx context.Context, key dayKey, version int64) (*pastDay, error) {
	for range maxFetchTries {
		day := &pastDay{version: version, rankings: map[rankingRules][]uint32{}}
		if err := a.sums.ReadDaySums(ctx, key.game, key.day, key.kind, day.add); err != nil {
			return nil, err
		}
		versionAfter, err := a.sums.DayVersion(ctx, key.game, key.day)
		if err != nil {
			return nil, err
		}
		if versionAfter == version {
			return day, nil
		}
		version = versionAfter
	}
	return nil, fmt.Errorf("%w: the day was corrected during every read", ErrNotReady)
}

// trimCache records the new number of entries of a cached day. While the cache is too
// large, it removes the days that were read longest ago, but never this one.
func (a *Archive) trimCache(cached *cachedDay, entryCount int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if element, found := a.cached[cached.key]; !found || element.Value != cached {
		return // another caller removed it
	}
	a.entryCount += entryCount - cached.entryCount
	cached.entryCount = entryCount
	for element := a.byRecency.Back(); element != nil && a.entryCount > a.maxEntries; {
		candidate, previous := element.Value.(*cachedDay), element.Prev()
		if candidate != cached {
			a.byRecency.Remove(element)
			delete(a.cached, candidate.key)
			a.entryCount -= candidate.entryCount
		}
		element = previous
	}
}
