package leaderboard

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
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
	maxArchiveEntries = 1 << 20 // maximum number of cached entries, about 120 bytes each
	maxFetchTries     = 4       // tries to read a day that corrections change during the read
)

// Archive ranks past days whose boards were deleted, from the sums in the ledger. It
// caches the days that were read last: at most maxArchiveEntries entries, or one larger
// day. Each read checks the day's version, so a cached day is never stale. Safe for
// concurrent use.
type Archive struct {
	sums      DaySumSource
	fetchLock *semaphore.Weighted // one fetch at a time, to limit the memory

	mu   sync.Mutex
	days recentCache[dayKey, *pastDay]
}

// dayKey identifies the entries of one kind on one day at one version.
type dayKey struct {
	game, day string
	kind      Kind
	version   int64
}

// NewArchive returns an archive with an empty cache.
func NewArchive(sums DaySumSource) *Archive { return newArchive(sums, maxArchiveEntries) }

func newArchive(sums DaySumSource, maxEntries int) *Archive {
	return &Archive{sums: sums, fetchLock: semaphore.NewWeighted(1), days: newRecentCache[dayKey, *pastDay](maxEntries / 2)}
}

// readRanking returns a past day in the requested order. The span must be a date.
func (a *Archive) readRanking(ctx context.Context, cfg Config, rankingID RankingID) (ranking, error) {
	day, err := a.readDay(ctx, dayKey{game: rankingID.Game, day: rankingID.Board.Span, kind: rankingID.Board.Kind})
	if err != nil {
		return ranking{}, fmt.Errorf("read the leaderboard of %s: %w", rankingID.Board.Span, err)
	}
	return day.rankingFor(cfg, rankingID.Order), nil
}

// readDay returns a day from the cache, or else from the ledger. It reads again if the
// version changes during the read, at most maxFetchTries times.
func (a *Archive) readDay(ctx context.Context, key dayKey) (day *pastDay, err error) {
	if day, key.version, err = a.findDay(ctx, key); day != nil || err != nil {
		return day, err
	}
	if err := a.fetchLock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer a.fetchLock.Release(1)
	if day, key.version, err = a.findDay(ctx, key); day != nil || err != nil { // another caller has fetched it
		return day, err
	}
	for range maxFetchTries {
		fetched, version := &pastDay{rankings: map[rankingRules][]uint32{}}, key.version
		if err := a.sums.ReadDaySums(ctx, key.game, key.day, key.kind, fetched.add); err != nil {
			return nil, err
		}
		if _, key.version, err = a.findDay(ctx, key); err != nil {
			return nil, err
		}
		if key.version == version {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.days.put(key, fetched, 1+len(fetched.entries))
			return fetched, nil
		}
	}
	return nil, fmt.Errorf("%w: the day was corrected during every read", ErrNotReady)
}

// findDay reads the current version of a day, and looks it up in the cache.
func (a *Archive) findDay(ctx context.Context, key dayKey) (day *pastDay, version int64, err error) {
	if key.version, err = a.sums.DayVersion(ctx, key.game, key.day); err != nil {
		return nil, 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	day, _ = a.days.get(key)
	return day, key.version, nil
}
