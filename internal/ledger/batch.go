package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/settle"
)

// resultItem is one result of a commit.
type resultItem struct {
	result  *match.Result
	outcome settle.Committed
	entries []*entry // empty if the result does not count
}

// newItems checks the results of a commit and returns an item for each. Results of the same
// match share one item. byGame has each item once.
func newItems(results []match.Result) (items []*resultItem, byGame map[string][]*resultItem, err error) {
	type key struct{ game, match string }
	byKey, byGame := map[key]*resultItem{}, map[string][]*resultItem{}
	for i := range results {
		r := &results[i]
		if err := checkResult(r); err != nil {
			return nil, nil, err
		}
		item := byKey[key{r.Game, r.Match}]
		if item == nil {
			item = &resultItem{result: r}
			byKey[key{r.Game, r.Match}], byGame[r.Game] = item, append(byGame[r.Game], item)
		}
		items = append(items, item)
	}
	return items, byGame, nil
}

// selectKnown selects the records of matches, each with the ratings of one seat of a duel.
const selectKnown = `
WITH v (game, id) AS ({rows})
SELECT m.id, m.summary, COALESCE(s.player, ''), COALESCE(s.rating, 0), COALESCE(s.rating_delta, 0)
FROM v JOIN matches m ON m.game = v.game AND m.id = v.id LEFT JOIN seats s ON s.game = v.game AND s.match_id = v.id AND s.mode = 'duel'`

// withoutKnown sets the outcomes of the results that the ledger already has, and returns the
// other items.
func withoutKnown(ctx context.Context, tx *transaction, game string, items []*resultItem) []*resultItem {
	var rows [][]any
	byID, isKnown := map[string]*resultItem{}, map[string]bool{}
	for _, item := range items {
		byID[item.result.Match] = item
		rows = append(rows, []any{game, item.result.Match})
	}
	tx.bulk(ctx, selectKnown, rows, func(rows *sql.Rows) error {
		var id, player string
		var recorded struct{ Counts bool }
		var after, delta float64
		if err := rows.Scan(&id, asJSON(&recorded), &player, &after, &delta); err != nil {
			return err
		}
		isKnown[id] = true
		byID[id].setKnown(recorded.Counts, player, after, delta)
		return nil
	})
	return slices.DeleteFunc(items, func(item *resultItem) bool { return isKnown[item.result.Match] })
}

// setKnown sets the outcome of a result that the ledger already has: whether the recorded match
// counts, and the committed rating of a player. Ratings are rounded to whole points.
func (item *resultItem) setKnown(counts bool, player string, after, delta float64) {
	item.outcome.CountsForLeaderboards = counts
	if !counts || !item.result.IsRated() {
		return
	}
	if item.outcome.Standings == nil {
		item.outcome.Standings = slices.Clone(item.result.Standings)
	}
	for i := range item.outcome.Standings {
		if s := &item.outcome.Standings[i]; s.Player == player {
			s.Rating = &match.RatingChange{Before: match.Rating{R: after - delta}, After: match.Rating{R: after}}
		}
	}
}

// recordRows returns the rows of insertMatch. The record of a match is the summary of its result.
func recordRows(game string, items []*resultItem) (rows [][]any) {
	for _, item := range items {
		rows = append(rows, []any{game, item.result.Match, string(protocol.EncodeJSON(item.result.Summary())), item.result.OverAt})
	}
	return rows
}

// maxIDBytes is the greatest length of an id in the wire contract, in bytes.
const maxIDBytes = 64

// checkResult returns an error that wraps ErrBadResult if a result would make the
// ledger's sums wrong or break its keys.
func checkResult(r *match.Result) error {
	if isInvalidID(r.Match) || isInvalidID(r.Game) {
		return fmt.Errorf("%w: match %q of game %q: ids are 1 to %d of A-Z a-z 0-9 _ . : -", ErrBadResult, r.Match, r.Game, maxIDBytes)
	}
	if !r.IsComplete() {
		return fmt.Errorf("%w: match %s: its standings are not loaded; read them first", ErrBadResult, r.Match)
	}
	if err := checkTeams(r); err != nil {
		return err
	}
	players := make(map[string]bool, len(r.Standings))
	rated := r.IsRated()
	for s := range humanStandings(r) {
		if isInvalidID(s.Player) || players[s.Player] {
			return fmt.Errorf("%w: match %s: player %q is listed twice or has an invalid id", ErrBadResult, r.Match, s.Player)
		}
		players[s.Player] = true
		if s.Score < 0 || s.TimeMS < 0 || s.LimitMS < 0 || s.Asked < 0 || s.Answered < 0 || s.Correct < 0 {
			return fmt.Errorf("%w: match %s: player %q has a negative value", ErrBadResult, r.Match, s.Player)
		}
		if s.Rating != nil && !rated {
			return fmt.Errorf("%w: match %s: player %q has a rating; either both players of a duel have one, or neither", ErrBadResult, r.Match, s.Player)
		}
	}
	return nil
}

func checkTeams(r *match.Result) error {
	seen := make(map[string]bool, len(r.Teams))
	for _, t := range r.Teams {
		if isInvalidID(t.ID) || seen[t.ID] || t.Score < 0 {
			return fmt.Errorf("%w: match %s: team %q is listed twice, has an invalid id or has a negative score", ErrBadResult, r.Match, t.ID)
		}
		seen[t.ID] = true
	}
	return nil
}

func isInvalidID(id string) bool {
	return id == "" || len(id) > maxIDBytes || strings.ContainsFunc(id, func(c rune) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		return !letter && (c < '0' || c > '9') && !strings.ContainsRune("_.:-", c)
	})
}

// humanStandings iterates over the standings of a result, without bots.
func humanStandings(r *match.Result) iter.Seq[*match.Standing] {
	return func(yield func(*match.Standing) bool) {
		for i := range r.Standings {
			if s := &r.Standings[i]; !s.Bot && !yield(s) {
				return
			}
		}
	}
}
