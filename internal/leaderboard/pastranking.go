package leaderboard

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
)

// DaySumSource reads the results of past days from the ledger, summed per holder.
type DaySumSource interface {
	// DayVersion returns a new number whenever the sums of a day have changed.
	DayVersion(ctx context.Context, game, day string) (int64, error)
	// ReadDaySums calls each once per holder of a kind with results on the day, in
	// ascending byte order of the ids. It stops at the first error of each and returns it.
	ReadDaySums(ctx context.Context, game, day string, kind Kind, each func(DaySum) error) error
}

// pastRanking is a past day's ranking in one order. Indexes count from 0. It answers reads
// like a RankingSource.
type pastRanking struct {
	asOf    int64         // commit time of the day's newest result, epoch ms
	total   int64         // number of ranked entries
	entries []RankedEntry // the best ones, best first
}

const allEntries = math.MaxInt / 2 // a limit for fetchRanking

// fetchRanking reads the results of a day and ranks them by the rules of a configuration. It
// keeps the best entries up to a limit, and never stores twice as many.
func fetchRanking(ctx context.Context, sums DaySumSource, cfg Config, rankingID RankingID, limit int) (*pastRanking, error) {
	ranking, day := &pastRanking{}, rankingID.Board.Span
	err := sums.ReadDaySums(ctx, rankingID.Game, day, rankingID.Board.Kind, func(sum DaySum) error {
		ranking.asOf = max(ranking.asOf, sum.CommittedAt)
		if !Rankable(rankingID.Order, sum.Aggregates, cfg.MinAnswers) {
			return nil
		}
		ranking.total++
		ranking.entries = append(ranking.entries, RankedEntry{
			BoardEntry{ID: sum.Holder, Newest: sum.Newest, Aggregates: sum.Aggregates}, Key(rankingID.Order, sum.Aggregates, cfg.Weights),
		})
		if len(ranking.entries) == 2*limit {
			ranking.keepBest(limit)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the leaderboard of %s: %w", day, err)
	}
	ranking.keepBest(limit)
	return ranking, nil
}

// keepBest sorts the entries and removes those after the best ones.
func (r *pastRanking) keepBest(limit int) {
	slices.SortFunc(r.entries, RankedEntry.compare)
	r.entries = r.entries[:min(limit, len(r.entries))]
}

// slice returns the requested entries. ErrNotRanked means that the request is for the
// entries around an entry that is not ranked.
func (r *pastRanking) slice(request SliceRequest) (RankingSlice, error) {
	start := 0
	switch request.Anchor {
	case Around:
		index := slices.IndexFunc(r.entries, func(entry RankedEntry) bool { return entry.ID == request.ID })
		if index < 0 {
			return RankingSlice{}, ErrNotRanked
		}
		start = index - request.Limit/2
	case After:
		start = r.countBefore(request.Edge)
		if start < len(r.entries) && r.entries[start].edge() == request.Edge {
			start++
		}
	case Before:
		start = r.countBefore(request.Edge) - request.Limit
	}
	end := min(start+request.Limit, len(r.entries))
	start = max(start, 0)
	slice := RankingSlice{StartIndex: int64(start), Entries: slices.Clone(r.entries[start:max(start, end)])}
	if len(slice.Entries) > 0 {
		slice.BetterCount = r.countBetter(slice.Entries[0].Key)
	}
	return slice, nil
}

// standings returns the standings of the ranked entries among ids, which must be sorted.
func (r *pastRanking) standings(ids []string) []StandingEntry {
	var standings []StandingEntry
	for _, entry := range r.entries {
		if _, isRequested := slices.BinarySearch(ids, entry.ID); isRequested {
			standings = append(standings, StandingEntry{RankedEntry: entry, BetterCount: r.countBetter(entry.Key)})
		}
	}
	return standings
}

// countBefore counts the entries that are ordered before edge, which need not be in the
// ranking.
func (r *pastRanking) countBefore(edge RankedEntry) int {
	return sort.Search(len(r.entries), func(i int) bool { return r.entries[i].compare(edge) >= 0 })
}

// countBetter counts the entries with a smaller key. Smaller keys are better.
func (r *pastRanking) countBetter(key float64) int64 {
	return int64(r.countBefore(RankedEntry{Key: key}))
}

// TopLists reads the best entries of single days from the ledger. It ranks them like the
// boards, and does not need boards of the day. Safe for concurrent use.
type TopLists struct {
	games map[string]Config
	days  DaySumSource
	names NameSource
}

// NewTopLists returns top lists for the given games, whose Configs must be valid.
func NewTopLists(games []Config, days DaySumSource, names NameSource) *TopLists {
	return &TopLists{configsByGame(games), days, names}
}

// Top returns the best n entries of a day by value, and the number of ranked entries. It
// stores less than 2n entries. A day without results has no entries. An unknown game is
// ErrNoWindow. Other errors come from the ledger.
func (t *TopLists) Top(ctx context.Context, game, date string, kind Kind, n int) (entries []Entry, total int64, err error) {
	cfg, known := t.games[game]
	if !known {
		return nil, 0, fmt.Errorf("%w: no game %q", ErrNoWindow, game)
	}
	rankingID := RankingID{Game: game, Board: Board{kind, date}, Order: cfg.RankingOrder(ByValue)}
	ranking, err := fetchRanking(ctx, t.days, cfg, rankingID, n)
	if err != nil {
		return nil, 0, err
	}
	entries = cfg.newEntries(RankingSlice{Entries: ranking.entries})
	if err := setNames(ctx, t.names, game, kind, pointersTo(entries)); err != nil {
		return nil, 0, fmt.Errorf("names of the top of %s: %w", date, err)
	}
	return entries, ranking.total, nil
}

// pointersTo returns a pointer to each entry.
func pointersTo(entries []Entry) []*Entry {
	pointers := make([]*Entry, len(entries))
	for i := range entries {
		pointers[i] = &entries[i]
	}
	return pointers
}
