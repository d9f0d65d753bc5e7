package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"laststand/internal/match"
)

const (
	// selectRatings selects the ratings of those players of a batch who exist.
	selectRatings = `SELECT p.id, p.rating FROM {ids} players p WHERE p.game = $1 AND p.id {listed}`

	// selectSeatRatings selects the ratings that the ledger computed for settled matches.
	selectSeatRatings = `
WITH v (game, id) AS ({rows})
SELECT s.game, s.match_id, s.player, s.rating, s.rating_delta FROM v JOIN seats s ON s.game = v.game AND s.match_id = v.id`
)

// rateResults computes the ratings of new results, one result after another in commit order. It
// starts with the ratings that the players have now. The caller holds the lock on the
// game's head, so these do not change. The ratings in a result are provisional. rate uses
// them only for players who do not exist any more.
func rateResults(items []*resultItem, storedRatings map[string]string) error {
	ratings := make(map[string]match.Rating, len(storedRatings))
	for _, item := range items {
		if !item.result.IsRated() {
			continue
		}
		for _, s := range item.result.Standings {
			if _, known := ratings[s.Player]; known {
				continue
			}
			before, err := ratingBefore(s, storedRatings)
			if err != nil {
				return fmt.Errorf("rating of player %s: %w", s.Player, err)
			}
			ratings[s.Player] = before
		}
		r := *item.result
		r.Rate(func(s match.Standing) match.Rating { return ratings[s.Player] })
		for _, s := range r.Standings {
			ratings[s.Player] = s.Rating.After
		}
		item.result, item.outcome.Standings = &r, r.Standings
	}
	return nil
}

// ratingBefore returns the stored rating of a player: the default for a player without
// rated matches, and the provisional one of the standing if the player does not exist.
func ratingBefore(s match.Standing, storedRatings map[string]string) (match.Rating, error) {
	text, exists := storedRatings[s.Player]
	if !exists {
		return s.Rating.Before, nil
	}
	r := match.DefaultRating()
	if text == "" {
		return r, nil
	}
	err := json.Unmarshal([]byte(text), &r)
	return r, err
}

// readRatings returns the result of storedRatings for new results. Then it replaces
// erased players in the results by their opaque ids.
func (s *Results) readRatings(ctx context.Context, tx *transaction, game string, items []*resultItem) (map[string]string, error) {
	stored, err := s.storedRatings(ctx, tx, game, items)
	if err != nil {
		return nil, fmt.Errorf("players: %w", err)
	}
	if err := s.renameErased(ctx, tx, game, items, stored); err != nil {
		return nil, fmt.Errorf("erased players: %w", err)
	}
	return stored, nil
}

// storedRatings returns the ratings of the players of new results, by player id: as JSON,
// or "" for a player without rated matches. Players who do not exist, for example erased
// ones, are missing.
func (s *Results) storedRatings(ctx context.Context, tx *transaction, game string, items []*resultItem) (map[string]string, error) {
	players := playerIDs(items)
	stored := make(map[string]string, len(players))
	if len(players) == 0 {
		return stored, nil
	}
	err := scanAll(func(rows *sql.Rows) error {
		var id, text string
		err := rows.Scan(&id, &text)
		stored[id] = text
		return err
	})(tx.query(ctx, selectRatings, game, s.idList(players)))
	return stored, err
}

// playerIDs returns the players of results, sorted, each once.
func playerIDs(items []*resultItem) []string {
	var players []string
	for _, item := range items {
		for s := range humanStandings(item.result) {
			players = append(players, s.Player)
		}
	}
	slices.Sort(players)
	return slices.Compact(players)
}

// setKnownRatings sets the committed ratings in the outcomes of rated results that the
// ledger already has. They are rounded to whole points.
func (s *Results) setKnownRatings(ctx context.Context, tx *transaction, batch *resultBatch) error {
	var rows [][]any
	for _, item := range batch.items {
		if r := item.result; !item.outcome.IsNew && item.counts && r.IsRated() {
			item.outcome.Standings = slices.Clone(r.Standings)
			rows = append(rows, []any{r.Game, r.Match})
		}
	}
	return tx.bulk(ctx, selectSeatRatings, rows, func(rows *sql.Rows) error {
		var key matchKey
		var player string
		var after, delta float64
		if err := rows.Scan(&key.game, &key.id, &player, &after, &delta); err != nil {
			return err
		}
		standings := batch.byKey[key].outcome.Standings
		for i := range standings {
			if standings[i].Player == player {
				standings[i].Rating = &match.RatingChange{Before: match.Rating{R: after - delta}, After: match.Rating{R: after}}
			}
		}
		return nil
	})
}
