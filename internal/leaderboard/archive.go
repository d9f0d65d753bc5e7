package leaderboard

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	maxArchiveEntries = 1 << 20 // maximum number of cached entries, about 150 bytes each
	maxFetchTries     = 4       // tries to read a day that corrections change during the read
)

// Archive ranks past days whose boards were deleted, from the sums in the ledger. It caches
// rankings: at most maxArchiveEntries entries, or one larger ranking. Each read checks the
// day's version, so a cached ranking is never stale. Safe for concurrent use.
type Archive struct {
	sums       DaySumSource
	fetchLock  *semaphore.Weighted // one fetch at a time, to limit the memory
	maxEntries int

	mu       sync.Mutex
	rankings map[archiveKey]*pastRanking
	entries  int // number of all entries in rankings
}

// archiveKey identifies a ranking of a day at one version of the day.
type archiveKey struct {
	RankingID
	version int64
}

// NewArchive returns an archive with an empty cache.
func NewArchive(sums DaySumSource) *Archive {
	return &Archive{sums: sums, fetchLock: semaphore.NewWeighted(1), maxEntries: maxArchiveEntries, rankings: map[archiveKey]*pastRanking{}}
}

// readRanking returns a ranking of a past day from the cache, or else from the ledger. The
// span must be a date. It reads again if the version changes during the read, at most
// maxFetchTries times.
func (a *Archive) readRanking(ctx context.Context, cfg Config, rankingID RankingID) (*pastRanking, error) {
	key := archiveKey{RankingID: rankingID}
	ranking, err := a.findRanking(ctx, &key)
	if ranking != nil || err != nil {
		return ranking, err
	}
	if err := a.fetchLock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer a.fetchLock.Release(1)
	if ranking, err = a.findRanking(ctx, &key); ranking != nil || err != nil { // another caller has fetched it
		return ranking, err
	}
	for range maxFetchTries {
		version := key.version
		fetched, err := fetchRanking(ctx, a.sums, cfg, rankingID)
		if err == nil {
			_, err = a.findRanking(ctx, &key)
		}
		if err != nil {
			return nil, err
		}
		if key.version == version {
			a.store(key, fetched)
			return fetched, nil
		}
	}
	return nil, fmt.Errorf("%w: the day %s was corrected during every read", ErrNotReady, rankingID.Board.Span)
}

// findRanking reads the current version of a day into the key, and looks the key up in the
// cache.
func (a *Archive) findRanking(ctx context.Context, key *archiveKey) (*pastRanking, error) {
	version, err := a.sums.DayVersion(ctx, key.Game, key.Board.Span)
	if err != nil {
		return nil, fmt.Errorf("read the leaderboard of %s: %w", key.Board.Span, err)
	}
	key.version = version
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rankings[*key], nil
}

// store caches a ranking. It clears the cache first if that is too full.
func (a *Archive) store(key archiveKey, ranking *pastRanking) {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := 1 + len(ranking.entries)
	if a.entries+size > a.maxEntries {
		clear(a.rankings)
		a.entries = 0
	}
	a.rankings[key] = ranking
	a.entries += size
}

// clear empties the cache.
func (a *Archive) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.rankings)
	a.entries = 0
}
