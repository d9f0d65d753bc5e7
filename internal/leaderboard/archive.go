package leaderboard

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
)

const maxArchiveEntries = 1 << 20 // maximum number of cached entries, about 150 bytes each

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
// span must be a date. A correction during the read may be in the ranking, which is stored with
// the version before it. Later reads look for the new version.
func (a *Archive) readRanking(ctx context.Context, cfg Config, rankingID RankingID) (*pastRanking, error) {
	version, err := a.sums.DayVersion(ctx, rankingID.Game, rankingID.Board.Span)
	if err != nil {
		return nil, fmt.Errorf("read the leaderboard of %s: %w", rankingID.Board.Span, err)
	}
	key := archiveKey{rankingID, version}
	if ranking := a.cached(key); ranking != nil {
		return ranking, nil
	}
	if err := a.fetchLock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer a.fetchLock.Release(1)
	if ranking := a.cached(key); ranking != nil { // another caller has fetched it
		return ranking, nil
	}
	ranking, err := fetchRanking(ctx, a.sums, cfg, rankingID, allEntries)
	if err == nil {
		a.store(key, ranking)
	}
	return ranking, err
}

func (a *Archive) cached(key archiveKey) *pastRanking {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rankings[key]
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

// readSlice reads entries from a board, or from the archive if the day's boards were
// deleted.
func (r *Reader) readSlice(ctx context.Context, cfg Config, rankingID RankingID, request SliceRequest) (RankingSlice, error) {
	slice, err := r.source.ReadSlice(ctx, rankingID, request)
	state := slice.BoardState
	if ranking, archiveErr := r.readArchived(ctx, cfg, rankingID, &state); archiveErr != nil {
		return RankingSlice{}, archiveErr
	} else if ranking != nil {
		slice, err = ranking.slice(request)
	}
	slice.BoardState = state
	return slice, err
}

// readStandings reads standings from a board, or from the archive if the day's boards
// were deleted.
func (r *Reader) readStandings(ctx context.Context, cfg Config, rankingID RankingID, ids []string) (StandingsResult, error) {
	result, err := r.source.ReadStandings(ctx, rankingID, StandingsRequest{IDs: ids})
	if err != nil {
		return StandingsResult{}, err
	}
	ranking, err := r.readArchived(ctx, cfg, rankingID, &result.BoardState)
	if ranking != nil {
		result.Entries = ranking.standings(ids)
	}
	return result, err
}

// readArchived returns the ranking of a ledger day whose boards were deleted, and updates
// their state. It returns nil if the requested span is none.
func (r *Reader) readArchived(ctx context.Context, cfg Config, rankingID RankingID, state *BoardState) (*pastRanking, error) {
	day := rankingID.Board.Span
	if !datePattern.MatchString(day) || state.FirstDay == "" || day < state.FirstDay || day >= state.OldestDay {
		return nil, nil //nolint:nilnil // there is no ranking, which is no error
	}
	ranking, err := r.archive.readRanking(ctx, cfg, rankingID)
	if err == nil {
		state.Span, state.AsOf, state.Total = day, ranking.asOf, ranking.total
	}
	return ranking, err
}
