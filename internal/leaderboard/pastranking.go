package leaderboard

import (
	"cmp"
	"context"
	"fmt"
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
	asOf    int64 // commit time of the day's newest result, epoch ms
	entries []RankedEntry
}

// fetchRanking reads the results of a day and ranks them by the rules of a configuration.
func fetchRanking(ctx context.Context, sums DaySumSource, cfg Config, rankingID RankingID) (*pastRanking, error) {
	ranking := &pastRanking{}
	day := rankingID.Board.Span
	err := sums.ReadDaySums(ctx, rankingID.Game, day, rankingID.Board.Kind, func(sum DaySum) error {
		ranking.asOf = max(ranking.asOf, sum.CommittedAt)
		if Rankable(rankingID.Order, sum.Aggregates, cfg.MinAnswers) {
			ranking.entries = append(ranking.entries, cfg.rankedEntry(sum, rankingID.Order))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the leaderboard of %s: %w", day, err)
	}
	slices.SortFunc(ranking.entries, RankedEntry.compare)
	return ranking, nil
}

// rankedEntry returns a day's entry of a holder with its key. The sum must be Rankable.
func (c Config) rankedEntry(sum DaySum, order Order) RankedEntry {
	return RankedEntry{
		BoardEntry: BoardEntry{ID: sum.Holder, Newest: sum.Newest, Aggregates: sum.Aggregates},
		Key:        Key(order, sum.Aggregates, c.Weights),
	}
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

// countBefore counts the members that are ordered before edge, which need not be in the
// ranking.
func (r *pastRanking) countBefore(edge RankedMember) int {
	return sort.Search(len(r.entries), func(i int) bool { return r.entries[i].edge().compare(edge) >= 0 })
}

// countBetter counts the entries with a smaller key. Smaller keys are better.
func (r *pastRanking) countBetter(key float64) int64 {
	return int64(r.countBefore(RankedMember{Key: key}))
}

// compare returns -1 if r comes before other in a ranking, 1 if it comes after, else 0.
func (r RankedMember) compare(other RankedMember) int {
	return cmp.Or(cmp.Compare(r.Key, other.Key), cmp.Compare(r.Member, other.Member))
}

// boardState returns the state of the deleted boards with the data of the day filled in.
func (r *pastRanking) boardState(boards BoardState, day string) BoardState {
	boards.Span, boards.AsOf, boards.Total = day, r.asOf, int64(len(r.entries))
	return boards
}
