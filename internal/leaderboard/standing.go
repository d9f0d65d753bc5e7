package leaderboard

import (
	"context"
	"math"
	"slices"
)

// Standing returns one player's or team's standing.
func (r *Reader) Standing(ctx context.Context, game string, q StandingQuery) (s Standing, err error) {
	err = r.served(ctx, game, func(cfg Config) error {
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
	places, err := r.source.Places(ctx, []Ask{{View: v, IDs: []string{q.Player}, Next: true, Tie: q.Explain}})
	if err != nil {
		return Standing{}, err
	}
	if len(places[0].Rows) == 0 {
		return Standing{}, ErrNotRanked
	}
	row := places[0].Rows[0]
	s := Standing{
		Entry:      cfg.entry(row.Held, row.Better+1),
		Total:      places[0].Total,
		Percentile: 100 * float64(places[0].Total-row.Better) / float64(places[0].Total),
		ToNext:     row.toNext(),
	}
	if q.Explain {
		s.Explain = &Explanation{Parts: Explain(row.Parts, cfg.Weights), Tie: row.tie()}
	}
	return s, nil
}

// toNext is the distance of keys to the next better rank. Between whole keys
// it is exact; between fractions it is rounded up to 4 decimals, so that it is
// enough and not 0.
func (r PlaceRow) toNext() *float64 {
	if r.Better == 0 {
		return nil
	}
	distance := r.Key - r.Next
	if distance != math.Trunc(distance) {
		distance = math.Ceil(10000*distance) / 10000
	}
	return &distance
}

func (r PlaceRow) tie() *Tie {
	if r.Equal < 2 {
		return nil
	}
	return &Tie{SharedBy: r.Equal, Place: r.Index - r.Better + 1, Position: r.Newest}
}

// Places returns rank and value, in the order ByValue, of players in every
// window of a game, unranked ones left out, and the ledger position that all of
// it holds at least. It never answers from a cache. Each MaxLimit players are a
// round trip of their own, and read later than those before.
func (r *Reader) Places(
	ctx context.Context, game string, players []string,
) (places map[string]map[Window]Place, position int64, err error) {
	err = r.served(ctx, game, func(cfg Config) error {
		places, position = map[string]map[Window]Place{}, math.MaxInt64
		for some := range slices.Chunk(players, MaxLimit) {
			held, err := r.placesOf(ctx, cfg, some, places)
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

// placesOf adds the places of at most MaxLimit players.
func (r *Reader) placesOf(ctx context.Context, cfg Config, players []string, places map[string]map[Window]Place) (int64, error) {
	var asks []Ask
	for _, w := range cfg.Windows {
		v, err := cfg.view(w, Players, ByValue)
		if err != nil {
			return 0, err
		}
		asks = append(asks, Ask{View: v, IDs: players})
	}
	answers, err := r.source.Places(ctx, asks)
	if err != nil {
		return 0, err
	}
	position := int64(math.MaxInt64)
	for i, answer := range answers {
		position = min(position, answer.Mark.Pos)
		for _, row := range answer.Rows {
			if places[row.ID] == nil {
				places[row.ID] = map[Window]Place{}
			}
			places[row.ID][cfg.Windows[i]] = Place{Rank: row.Better + 1, Value: Value(row.Parts, cfg.Weights)}
		}
	}
	return position, nil
}
