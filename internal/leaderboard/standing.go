package leaderboard

import (
	"context"
	"math"
	"slices"
)

// Standing returns the standing of one player or team.
func (r *Reader) Standing(ctx context.Context, game string, query StandingQuery) (standing Standing, err error) {
	err = r.withServedConfig(ctx, game, func(cfg Config) error {
		standing, err = r.readStanding(ctx, cfg, query)
		return err
	})
	return standing, err
}

func (r *Reader) readStanding(ctx context.Context, cfg Config, query StandingQuery) (Standing, error) {
	rankingID, err := cfg.rankingID(query.Window, query.Kind, query.Order)
	if err != nil {
		return Standing{}, err
	}
	if !identifierPattern.MatchString(query.Player) {
		return Standing{}, ErrNotRanked
	}
	results, err := r.source.ReadStandings(ctx, []StandingsRequest{{RankingID: rankingID, IDs: []string{query.Player}, WithNextKey: true, WithTie: query.Explain}})
	if err != nil {
		return Standing{}, err
	}
	if len(results[0].Entries) == 0 {
		return Standing{}, ErrNotRanked
	}
	row := results[0].Entries[0]
	standing := Standing{
		Entry:      cfg.newEntry(row.BoardEntry, row.BetterCount+1),
		Total:      results[0].Total,
		Percentile: 100 * float64(results[0].Total-row.BetterCount) / float64(results[0].Total),
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
// and window. Unranked players are missing. It needs one round trip per MaxLimit players.
func (r *Reader) WindowStandings(ctx context.Context, game string, players []string) (standings map[string]map[Window]WindowStanding, err error) {
	err = r.withServedConfig(ctx, game, func(cfg Config) error {
		standings = map[string]map[Window]WindowStanding{}
		for chunk := range slices.Chunk(players, MaxLimit) {
			var requests []StandingsRequest
			for _, window := range cfg.Windows {
				rankingID, err := cfg.rankingID(window, Players, ByValue)
				if err != nil {
					return err
				}
				requests = append(requests, StandingsRequest{RankingID: rankingID, IDs: chunk})
			}
			results, err := r.source.ReadStandings(ctx, requests)
			if err != nil {
				return err
			}
			cfg.addWindowStandings(standings, results)
		}
		return nil
	})
	return standings, err
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
