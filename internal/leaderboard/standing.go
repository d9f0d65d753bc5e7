package leaderboard

import (
	"context"
	"math"
	"slices"
)

// Standing returns the standing of one player or team.
func (r *Reader) Standing(ctx context.Context, game string, q StandingQuery) (s Standing, err error) {
	err = r.withServedConfig(ctx, game, func(cfg Config) error {
		s, err = r.standing(ctx, cfg, q)
		return err
	})
	return s, err
}

func (r *Reader) standing(ctx context.Context, cfg Config, q StandingQuery) (Standing, error) {
	v, err := cfg.view(q.Window, q.Kind, q.Order)
	if err != nil {
		return Standing{}, err
	}
	if !identifier.MatchString(q.Player) {
		return Standing{}, ErrNotRanked
	}
	places, err := r.source.ReadStandings(ctx, []StandingsRequest{{View: v, IDs: []string{q.Player}, WithNext: true, WithTie: q.Explain}})
	if err != nil {
		return Standing{}, err
	}
	if len(places[0].Rows) == 0 {
		return Standing{}, ErrNotRanked
	}
	row := places[0].Rows[0]
	s := Standing{
		Entry:      cfg.entry(row.BoardEntry, row.Better+1),
		Total:      places[0].Total,
		Percentile: 100 * float64(places[0].Total-row.Better) / float64(places[0].Total),
		ToNext:     row.toNext(),
	}
	if q.Explain {
		s.Explain = &Explanation{Aggregates: Explain(row.Aggregates, cfg.Weights), Tie: row.tie()}
	}
	return s, nil
}

// distanceToNextRank returns the difference between the keys of this and the next better
// rank, or nil at rank 1. A whole number is exact. A fraction is rounded up to 4 decimals,
// so that it is never too small and never 0.
func (r StandingRow) toNext() *float64 {
	if r.Better == 0 {
		return nil
	}
	distance := r.Key - r.NextKey
	if distance != math.Trunc(distance) {
		distance = math.Ceil(10000*distance) / 10000
	}
	return &distance
}

// tie returns the place among entries with the same key, or nil if there are no others.
func (r StandingRow) tie() *Tie {
	if r.Equal < 2 {
		return nil
	}
	return &Tie{SharedBy: r.Equal, Place: r.Index - r.Better + 1, Position: r.Newest}
}

// WindowStandings returns the rank and value of players, in the order ByValue, by player id
// and window. Unranked players are missing. All standings include the ledger's rows up to
// position. They never come from a cache. It needs one round trip per MaxLimit players.
func (r *Reader) WindowStandings(
	ctx context.Context, game string, players []string,
) (places map[string]map[Window]WindowStanding, position int64, err error) {
	err = r.withServedConfig(ctx, game, func(cfg Config) error {
		places, position = map[string]map[Window]WindowStanding{}, math.MaxInt64
		for some := range slices.Chunk(players, MaxLimit) {
			held, err := r.addWindowStandings(ctx, cfg, some, places)
			if err != nil {
				return err
			}
			position = min(position, held)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return places, position, nil
}

// addWindowStandings adds the standings of at most MaxLimit players to standings. It returns
// the ledger position up to which all of them are current.
func (r *Reader) addWindowStandings(ctx context.Context, cfg Config, players []string, places map[string]map[Window]WindowStanding) (int64, error) {
	var asks []StandingsRequest
	for _, w := range cfg.Windows {
		v, err := cfg.view(w, Players, ByValue)
		if err != nil {
			return 0, err
		}
		asks = append(asks, StandingsRequest{View: v, IDs: players})
	}
	answers, err := r.source.ReadStandings(ctx, asks)
	if err != nil {
		return 0, err
	}
	position := int64(math.MaxInt64)
	for i, answer := range answers {
		position = min(position, answer.Mark.Pos)
		for _, row := range answer.Rows {
			if places[row.ID] == nil {
				places[row.ID] = map[Window]WindowStanding{}
			}
			places[row.ID][cfg.Windows[i]] = WindowStanding{Rank: row.Better + 1, Value: Value(row.Aggregates, cfg.Weights)}
		}
	}
	return position, nil
}
