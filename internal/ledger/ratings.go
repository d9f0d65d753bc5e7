package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"laststand/internal/match"
	"laststand/internal/rating"
)

const (
	// selectRatings finds the ratings of all players of a batch at once.
	selectRatings = `SELECT p.id, p.rating FROM {ids} players p WHERE p.game = $1 AND p.id {listed}`

	// selectSeatRatings finds the ratings that were computed for settled matches.
	selectSeatRatings = `
WITH v (game, id) AS ({rows})
SELECT s.game, s.match_id, s.player, s.rating, s.rating_delta FROM v JOIN seats s ON s.game = v.game AND s.match_id = v.id`
)

// rate computes the ratings of new results, one result after another in commit
// order, from the ratings that the players have. The caller holds the lock on the
// head: nobody else changes a rating meanwhile. What a result itself says of
// ratings is provisional and counts only for a player who does not exist any more.
func (l *Ledger) rate(ctx context.Context, tx *sql.Tx, game string, items []*item) error {
	ratings, err := l.ratings(ctx, tx, game, items)
	if err != nil {
		return err
	}
	for _, it := range items {
		if !it.result.Rated() {
			continue
		}
		r := *it.result
		r.Rate(func(s match.Standing) rating.Rating {
			if stored, ok := ratings[s.Player]; ok {
				return stored
			}
			return s.Rating.Before
		})
		for _, s := range r.Standings {
			ratings[s.Player] = s.Rating.After
		}
		it.result, it.out.Standings = &r, r.Standings
	}
	return nil
}

// ratings are those of the players of rated results, in one query.
func (l *Ledger) ratings(ctx context.Context, tx *sql.Tx, game string, items []*item) (map[string]rating.Rating, error) {
	var players []string
	for _, it := range items {
		if it.result.Rated() {
			players = append(players, it.result.Standings[0].Player, it.result.Standings[1].Player)
		}
	}
	ratings := make(map[string]rating.Rating, len(players))
	if len(players) == 0 {
		return ratings, nil
	}
	slices.Sort(players)
	err := scanAll(func(rows *sql.Rows) error {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		r := rating.Default()
		if text != "" {
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				return fmt.Errorf("rating of player %s: %w", id, err)
			}
		}
		ratings[id] = r
		return nil
	})(tx.QueryContext(ctx, l.sql(selectRatings), game, l.list(slices.Compact(players))))
	return ratings, err
}

// knownRatings gives the results of a batch that the ledger had already their
// final ratings, in whole points.
func (l *Ledger) knownRatings(ctx context.Context, tx *sql.Tx, b *batch) error {
	var rows [][]any
	for _, it := range b.items {
		if r := it.result; !it.out.New && it.counted && r.Rated() {
			it.out.Standings = slices.Clone(r.Standings)
			rows = append(rows, []any{r.Game, r.Match})
		}
	}
	return l.bulk(tx).run(ctx, selectSeatRatings, rows, func(rows *sql.Rows) error {
		var key matchKey
		var player string
		var after, delta float64
		if err := rows.Scan(&key.game, &key.id, &player, &after, &delta); err != nil {
			return err
		}
		standings := b.byKey[key].out.Standings
		for i := range standings {
			if standings[i].Player == player {
				standings[i].Rating = &match.RatingChange{Before: rating.Rating{R: after - delta}, After: rating.Rating{R: after}}
			}
		}
		return nil
	})
}
