package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
)

var _ settle.Ledger = (*Results)(nil)

// Results settles matches.
type Results struct {
	*database
	entries        *entryWriter
	pairDuelLimits map[string]int64     // by game
	retention      map[string]Retention // by game
}

// Commit implements settle.Ledger. It stores the record of each match and the history of its
// human seats. A result that counts also adds an entry for each player, adds to the
// player's totals, and adds an entry for each team with players. Entries are in the order
// of results; in a result, players come first.
//
// A rated duel changes the ratings that its players have at that time. A duel above its
// game's limit per pair and day does not count and changes no rating; its record says so.
// Commit also enqueues the tasks that report new results and ended days.
//
// If the connection was lost during the commit, the outcome is unknown, and the caller can
// commit the same results again. If IsResultRefused is true for the error, a result can
// never be committed.
func (s *Results) Commit(ctx context.Context, results []match.Result) ([]settle.Committed, error) {
	items, byGame, err := newItems(results)
	if err == nil {
		err = s.inTx(ctx, func(tx *transaction) error { return s.commit(ctx, tx, byGame) })
	}
	if err != nil {
		return nil, fmt.Errorf("commit %d results: %w", len(results), err)
	}
	outcomes := make([]settle.Committed, len(results))
	for i, item := range items {
		outcomes[i] = item.outcome
		item.outcome.IsNew = false // a later result of the same match is not new
	}
	return outcomes, nil
}

// commit is the transaction of Commit. All transactions take locks in one order, so that
// batches cannot deadlock. The order is: heads by game, then days, teams and players of that
// game, and at last the queues of the new tasks.
func (s *Results) commit(ctx context.Context, tx *transaction, byGame map[string][]*resultItem) error {
	var tasks []taskqueue.NewTask
	for _, game := range slices.Sorted(maps.Keys(byGame)) {
		gameTasks, err := s.commitGame(ctx, tx, game, byGame[game])
		if err != nil {
			return fmt.Errorf("game %s: %w", game, err)
		}
		tasks = append(tasks, gameTasks...)
	}
	return enqueueAll(ctx, tx, tasks)
}

// commitGame writes the new results of one game under the lock on its head. So no other
// transaction can commit the same matches. It returns the tasks that report the results.
func (s *Results) commitGame(ctx context.Context, tx *transaction, game string, items []*resultItem) ([]taskqueue.NewTask, error) {
	h, err := s.entries.lockHead(ctx, tx, game)
	if err != nil {
		return nil, err
	}
	items = withoutKnown(ctx, tx, game, items)
	for _, item := range items {
		if err := s.retention[game].checkAge(item.result, h.now); err != nil {
			return nil, err
		}
	}
	stored := storedRatings(ctx, tx, game, items)
	renameErased(ctx, tx, game, items, stored)
	s.applyPairLimit(ctx, tx, h, items)
	if tx.err != nil {
		return nil, tx.err
	}
	if err := rateResults(items, stored); err != nil {
		return nil, err
	}
	for _, item := range items {
		item.entries = resultEntries(item.result)
		item.outcome.IsNew, item.outcome.CountsForLeaderboards = true, item.result.CountsForLeaderboards
		h.add(item.entries...)
	}
	players, err := playerRows(game, items)
	if err != nil {
		return nil, err
	}
	h.save(ctx, tx)
	tx.bulk(ctx, insertMatch, recordRows(game, items), nil)
	tx.bulk(ctx, saveTeam, teamRows(game, items), nil)
	tx.bulk(ctx, insertSeat, seatRows(game, items), nil)
	tx.bulk(ctx, updatePlayer, players, nil)
	return s.entries.eventTasks(h, items...), tx.err
}

var (
	insertMatch = insertRows("matches", "game, id, summary, over_at")
	updateMatch = updateRows("matches", "game, id", "summary")

	updatePlayer = `
WITH v (game, id, rating, rated_matches, ` + aggregateColumns + `) AS ({rows})
UPDATE players SET
    rating = CASE WHEN v.rating = '' THEN players.rating ELSE v.rating END,
    rated_matches = players.rated_matches + v.rated_matches,
    ` + eachAggregate("@ = players.@ + v.@") + `
FROM v WHERE players.game = v.game AND players.id = v.id`
)

// playerRows returns the rows of updatePlayer: one for each player whose totals or
// rating change.
func playerRows(game string, items []*resultItem) ([][]any, error) {
	changes := map[string]*playerChange{}
	changeOf := func(player string) *playerChange {
		if changes[player] == nil {
			changes[player] = &playerChange{}
		}
		return changes[player]
	}
	for _, item := range items {
		for _, e := range item.entries {
			if e.HolderKind == leaderboard.Players {
				c := changeOf(e.Holder)
				c.aggregates = c.aggregates.Add(e.Aggregates)
			}
		}
		for s := range humanStandings(item.result) {
			if s.Rating == nil {
				continue
			}
			text, err := json.Marshal(s.Rating.After)
			if err != nil {
				return nil, fmt.Errorf("%w: match %s: %w", ErrBadResult, item.result.Match, err)
			}
			c := changeOf(s.Player)
			c.ratingJSON, c.ratedMatches = string(text), c.ratedMatches+1
		}
	}
	var rows [][]any
	for _, player := range slices.Sorted(maps.Keys(changes)) {
		rows = append(rows, changes[player].row(game, player))
	}
	return rows, nil
}

// playerChange is what a transaction changes of one player.
type playerChange struct {
	aggregates   leaderboard.Aggregates
	ratingJSON   string // new rating; "": unchanged
	ratedMatches int64  // number of rated matches to add
}

// row returns a row of updatePlayer.
func (p *playerChange) row(game, player string) []any {
	return append([]any{game, player, p.ratingJSON, p.ratedMatches}, aggregateValues(p.aggregates)...)
}
