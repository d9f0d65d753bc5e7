package leaderboard

import (
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Standing returns the standing of one player or team.
func (r *Reader) Standing(ctx context.Context, game string, query StandingQuery) (Standing, error) {
	return readServed(ctx, r, game, func(cfg Config) (Standing, error) { return r.readStanding(ctx, cfg, query) })
}

func (r *Reader) readStanding(ctx context.Context, cfg Config, query StandingQuery) (Standing, error) {
	rankingID, err := cfg.rankingID(query.Window, query.Kind, query.Order)
	if err != nil {
		return Standing{}, err
	}
	if !identifierPattern.MatchString(query.Player) {
		return Standing{}, ErrNotRanked
	}
	result, err := r.source.ReadStandings(ctx, rankingID, StandingsRequest{IDs: []string{query.Player}, WithNextKey: true, WithTie: query.Explain})
	if err != nil {
		return Standing{}, err
	}
	if len(result.Entries) == 0 {
		return Standing{}, ErrNotRanked
	}
	row := result.Entries[0]
	standing := Standing{
		Entry:      cfg.newEntry(row.BoardEntry, row.BetterCount+1),
		Total:      result.Total,
		Percentile: 100 * float64(result.Total-row.BetterCount) / float64(result.Total),
		ToNext:     row.distanceToNextRank(),
	}
	if query.Explain {
		standing.Explain = &Explanation{Terms: Explain(row.Aggregates, cfg.Weights), Tie: row.tie()}
	}
	return standing, nil
}

// distanceToNextRank returns the difference between the keys of this and the next better
// rank, or nil at rank 1. A whole number is exact. A fraction is rounded up to 4 decimals,
// so that it is never too small and never 0.
func (s StandingEntry) distanceToNextRank() *float64 {
	if s.BetterCount == 0 {
		return nil
	}
	distance := s.Key - s.NextBetterKey
	if distance != math.Trunc(distance) {
		distance = math.Ceil(10000*distance) / 10000
	}
	return &distance
}

// tie returns the place among entries with the same key, or nil if there are no others.
func (s StandingEntry) tie() *Tie {
	if s.EqualCount < 2 {
		return nil
	}
	return &Tie{SharedBy: s.EqualCount, Place: s.Index - s.BetterCount + 1, Position: s.Newest}
}

// WindowStandings returns the rank and value of players, in the order ByValue, by player id
// and window. Unranked players are missing. It reads the windows at the same time, MaxLimit
// players per round trip.
func (r *Reader) WindowStandings(ctx context.Context, game string, players []string) (map[string]map[Window]WindowStanding, error) {
	return readServed(ctx, r, game, func(cfg Config) (map[string]map[Window]WindowStanding, error) {
		standings := map[string]map[Window]WindowStanding{}
		for chunk := range slices.Chunk(players, MaxLimit) {
			results := make([]StandingsResult, len(cfg.Windows))
			group, ctx := errgroup.WithContext(ctx)
			for i, window := range cfg.Windows {
				group.Go(func() error {
					rankingID, err := cfg.rankingID(window, Players, ByValue)
					if err == nil {
						results[i], err = r.source.ReadStandings(ctx, rankingID, StandingsRequest{IDs: chunk})
					}
					return err
				})
			}
			if err := group.Wait(); err != nil {
				return nil, err
			}
			cfg.addWindowStandings(standings, results)
		}
		return standings, nil
	})
}

// addWindowStandings adds results, one per window, to standings.
func (c Config) addWindowStandings(standings map[string]map[Window]WindowStanding, results []StandingsResult) {
	for i, result := range results {
		for _, row := range result.Entries {
			if standings[row.ID] == nil {
				standings[row.ID] = map[Window]WindowStanding{}
			}
			standings[row.ID][c.Windows[i]] = WindowStanding{Rank: row.BetterCount + 1, Value: Value(row.Aggregates, c.Weights)}
		}
	}
}
