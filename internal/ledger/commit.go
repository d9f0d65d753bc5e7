package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"laststand/internal/match"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
)

var _ settle.Ledger = (*Results)(nil)

// Commit adds results to the ledger in one transaction. A match is added only once, even
// if Commit gets its result again. Commit stores the record of the match and the history
// of its human seats. A result that counts also adds an entry for each player, adds to
// the player's totals, and adds an entry for each team with players. Entries are in the
// order of results; in a result, players come first.
//
// A rated duel changes the ratings that its players have at that time. A duel above its
// game's limit per pair and day does not count and changes no rating; its record says
// so. Commit also enqueues the tasks that report new results and ended days. When
// everything is on disk, Commit returns one outcome for each result, in their order.
//
// After an error nothing has changed. If the connection was lost during the commit, the
// outcome is unknown, and the caller can commit the same results again. If
// IsResultRefused is true for the error, a result can never be committed.
func (s *Results) Commit(ctx context.Context, results []match.Result) ([]settle.Committed, error) {
	batch, err := newResultBatch(results)
	if err == nil {
		err = s.entries.inTxWithTasks(ctx, func(tx *sql.Tx) ([]taskqueue.NewTask, error) { return s.commit(ctx, tx, batch) })
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: commit %d results: %w", len(results), err)
	}
	return batch.completeOutcomes(results), nil
}

// commit is the transaction of Commit. It returns the tasks to enqueue at its end. All
// transactions take locks in one order, so that batches cannot deadlock. The order is:
// match ids, heads by game, then players, teams and days of that game, and at last the
// queues of the new tasks.
func (s *Results) commit(ctx context.Context, tx *sql.Tx, batch *resultBatch) (tasks []taskqueue.NewTask, err error) {
	bulk := s.newBulkRunner(tx)
	if err := bulk.run(ctx, insertMatch, batch.matchRows(), batch.scanNew); err != nil {
		return nil, fmt.Errorf("matches: %w", err)
	}
	if err := bulk.run(ctx, selectKnown, batch.knownRows(), batch.scanKnown); err != nil {
		return nil, fmt.Errorf("known matches: %w", err)
	}
	if err := s.setKnownRatings(ctx, tx, batch); err != nil {
		return nil, fmt.Errorf("known matches: %w", err)
	}
	byGame := batch.newItemsByGame()
	for _, game := range slices.Sorted(maps.Keys(byGame)) {
		gameTasks, err := s.commitGame(ctx, tx, game, byGame[game])
		if err != nil {
			return nil, fmt.Errorf("game %s: %w", game, err)
		}
		tasks = append(tasks, gameTasks...)
	}
	return tasks, nil
}

// commitGame writes the new results of one game under the lock on its head. It returns
// the tasks that report them.
func (s *Results) commitGame(ctx context.Context, tx *sql.Tx, game string, items []*resultItem) ([]taskqueue.NewTask, error) {
	h, err := s.entries.lockHead(ctx, tx, game)
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	storedRatings, err := s.readRatings(ctx, tx, game, items)
	if err != nil {
		return nil, err
	}
	if err := s.applyPairLimit(ctx, tx, h, items); err != nil {
		return nil, fmt.Errorf("pairs: %w", err)
	}
	if err := rateResults(items, storedRatings); err != nil {
		return nil, fmt.Errorf("ratings: %w", err)
	}
	for _, item := range items {
		h.add(item.entries...)
		item.setPositions(h.now)
	}
	players, err := playerRows(game, items)
	if err != nil {
		return nil, err
	}
	if err := s.entries.saveHead(ctx, tx, h); err != nil {
		return nil, err
	}
	bulk := s.newBulkRunner(tx)
	if err := bulk.run(ctx, saveTeam, teamRows(game, items), nil); err != nil {
		return nil, fmt.Errorf("teams: %w", err)
	}
	if err := bulk.run(ctx, insertSeat, seatRows(game, items), nil); err != nil {
		return nil, fmt.Errorf("seats: %w", err)
	}
	if err := bulk.run(ctx, updatePlayer, players, nil); err != nil {
		return nil, fmt.Errorf("players: %w", err)
	}
	return s.entries.eventTasks(h, items...), nil
}

const (
	insertMatch = `
WITH v (game, id, summary) AS ({rows})
INSERT INTO matches (game, id, summary) SELECT game, id, summary FROM v WHERE true
ON CONFLICT DO NOTHING RETURNING game, id`

	selectKnown = `
WITH v (game, id) AS ({rows})
SELECT m.game, m.id, m.summary FROM v JOIN matches m ON m.game = v.game AND m.id = v.id`
)

var updatePlayer = `
WITH v (game, id, rating, rated_matches, ` + aggregateColumns + `) AS ({rows})
UPDATE players SET
    rating = CASE WHEN v.rating = '' THEN players.rating ELSE v.rating END,
    rated_matches = players.rated_matches + v.rated_matches,
    ` + eachAggregate("@ = players.@ + v.@") + `
FROM v WHERE players.game = v.game AND players.id = v.id`
