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
	// selectRatings selects the ratings of those players of a batch who exist.
	selectRatings = `SELECT p.id, p.rating FROM {ids} players p WHERE p.game = $1 AND p.id {listed}`

	// selectSeatRatings selects the ratings that the ledger computed for settled matches.
	// It skips seats with rating 0: an older program used the ratings in results instead.
	selectSeatRatings = `
WITH v (game, id) AS ({rows})
SELECT s.game, s.match_id, s.player, s.rating, s.rating_delta FROM v JOIN seats s ON s.game = v.game AND s.match_id = v.id AND s.rating <> 0`
)

// rate computes the ratings of new results, one result after another in commit order. It
// starts with the ratings that the players have now. The caller holds the lock on the
// game's head, so these do not change. The ratings in a result are provisional. rate uses
// them only for players who do not exist any more.
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

// ratingBefore returns the stored rating of a player: the default for a player without
// rated matches, and the provisional one of the standing if the player does not exist.
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

// readPlayers returns the result of storedRatings for new results. Then it replaces
// erased players in the results by their opaque ids.
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

// storedRatings returns the ratings of the players of new results, by player id: as JSON,
// or "" for a player without rated matches. Players who do not exist, for example erased
// ones, are missing.
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

// knownRatings sets the committed ratings in the outcomes of rated results that the
// ledger already has. They are rounded to whole points.
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
