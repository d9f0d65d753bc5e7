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
	// selectRatings finds those of the players of a batch who exist.
	selectRatings = `SELECT p.id, p.rating FROM {ids} players p WHERE p.game = $1 AND p.id {listed}`

	// selectSeatRatings finds the ratings that were computed for settled matches: not
	// those of an older program, which took what results say.
	selectSeatRatings = `
WITH v (game, id) AS ({rows})
SELECT s.game, s.match_id, s.player, s.rating, s.rating_delta FROM v JOIN seats s ON s.game = v.game AND s.match_id = v.id AND s.rating <> 0`
)

// rate computes the ratings of new results, one result after another in commit
// order, from the ratings that the players have. The caller holds the lock on the
// head, so ratings do not change. The ratings in a result are provisional. They are used
// only for players who do not exist any more.
func rate(items []*batchItem, stored map[string]string) error {
	ratings := make(map[string]rating.Rating, len(stored))
	for _, it := range items {
		if !it.result.IsRated() {
			continue
		}
		for _, s := range it.result.Standings {
			if _, known := ratings[s.Player]; known {
				continue
			}
			before, err := ratingBefore(s, stored)
			if err != nil {
				return fmt.Errorf("rating of player %s: %w", s.Player, err)
			}
			ratings[s.Player] = before
		}
		r := *it.result
		r.Rate(func(s match.Standing) rating.Rating { return ratings[s.Player] })
		for _, s := range r.Standings {
			ratings[s.Player] = s.Rating.After
		}
		it.result, it.committed.Standings = &r, r.Standings
	}
	return nil
}

func ratingBefore(s match.Standing, stored map[string]string) (rating.Rating, error) {
	text, exists := stored[s.Player]
	if !exists {
		return s.Rating.Before, nil
	}
	r := rating.Default()
	if text == "" {
		return r, nil
	}
	err := json.Unmarshal([]byte(text), &r)
	return r, err
}

// readPlayers returns the ratings of the players of new results like storedRatings, and
// replaces erased players in the results by their opaque ids.
func (l *Ledger) readPlayers(ctx context.Context, tx *sql.Tx, game string, items []*batchItem) (map[string]string, error) {
	stored, err := l.storedRatings(ctx, tx, game, items)
	if err != nil {
		return nil, fmt.Errorf("players: %w", err)
	}
	if err := l.renameErased(ctx, tx, game, items, stored); err != nil {
		return nil, fmt.Errorf("erased players: %w", err)
	}
	return stored, nil
}

// storedRatings returns the rating, as JSON or "", of each existing player of new
// results. Erased players do not exist.
func (l *Ledger) storedRatings(ctx context.Context, tx *sql.Tx, game string, items []*batchItem) (map[string]string, error) {
	players := playersOf(items)
	stored := make(map[string]string, len(players))
	if len(players) == 0 {
		return stored, nil
	}
	err := scanAll(func(rows *sql.Rows) error {
		var id, text string
		err := rows.Scan(&id, &text)
		stored[id] = text
		return err
	})(tx.QueryContext(ctx, l.sql(selectRatings), game, l.idList(players)))
	return stored, err
}

// playersOf returns the players of results, sorted, each once.
func playersOf(items []*batchItem) []string {
	var players []string
	for _, it := range items {
		for s := range humans(it.result) {
			players = append(players, s.Player)
		}
	}
	slices.Sort(players)
	return slices.Compact(players)
}

// knownRatings sets the final ratings of results that the ledger already has, in whole
// points.
func (l *Ledger) knownRatings(ctx context.Context, tx *sql.Tx, b *batch) error {
	var rows [][]any
	for _, it := range b.items {
		if r := it.result; !it.committed.New && it.counts && r.IsRated() {
			it.committed.Standings = slices.Clone(r.Standings)
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
		standings := b.byKey[key].committed.Standings
		for i := range standings {
			if standings[i].Player == player {
				standings[i].Rating = &match.RatingChange{Before: rating.Rating{R: after - delta}, After: rating.Rating{R: after}}
			}
		}
		return nil
	})
}
