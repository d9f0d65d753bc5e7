package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/match"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
)

var _ settle.Ledger = (*Results)(nil)

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
func (s *Results) Commit(ctx context.Context, results []match.Result) (_ []settle.Committed, err error) {
	defer describe(&err, "commit %d results", len(results))
	batch, err := newResultBatch(results)
	if err == nil {
		err = s.entries.inTxWithTasks(ctx, func(tx *transaction) ([]taskqueue.NewTask, error) { return s.commit(ctx, tx, batch) })
	}
	if err != nil {
		return nil, err
	}
	return batch.completeOutcomes(results), nil
}

// commit is the transaction of Commit. It returns the tasks to enqueue at its end. All
// transactions take locks in one order, so that batches cannot deadlock. The order is:
// match ids, heads by game, then players, teams and days of that game, and at last the
// queues of the new tasks.
func (s *Results) commit(ctx context.Context, tx *transaction, batch *resultBatch) (tasks []taskqueue.NewTask, err error) {
	if err := tx.bulk(ctx, insertMatch, batch.matchRows(), batch.scanNew); err != nil {
		return nil, fmt.Errorf("matches: %w", err)
	}
	if err := tx.bulk(ctx, selectKnown, batch.knownRows(), batch.scanKnown); err != nil {
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
func (s *Results) commitGame(ctx context.Context, tx *transaction, game string, items []*resultItem) ([]taskqueue.NewTask, error) {
	h, err := s.entries.lockHead(ctx, tx, game)
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	for _, item := range items {
		if err := s.retention[game].checkAge(item.result, h.now); err != nil {
			return nil, err
		}
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
	err = tx.bulkSteps(ctx,
		bulkStep{"teams", saveTeam, teamRows(game, items)},
		bulkStep{"seats", insertSeat, seatRows(game, items)},
		bulkStep{"players", updatePlayer, players},
	)
	if err != nil {
		return nil, err
	}
	return s.entries.eventTasks(h, items...), nil
}

const (
	insertMatch = `
WITH v (game, id, summary, over_at) AS ({rows})
INSERT INTO matches (game, id, summary, over_at) SELECT game, id, summary, over_at FROM v WHERE true
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

// inTxWithTasks runs f in one writing transaction, and at its end enqueues the tasks that
// f returns. So the tasks exist if and only if the changes of f do. After the commit it
// notifies the topics of the tasks.
func (w *entryWriter) inTxWithTasks(ctx context.Context, f func(*transaction) ([]taskqueue.NewTask, error)) error {
	return w.tasks.inQueueTx(ctx, func(tx *transaction) (topicsToNotify []string, err error) {
		tasks, err := f(tx)
		if err != nil || len(tasks) == 0 {
			return nil, err
		}
		if _, topicsToNotify, err = w.tasks.enqueueInTx(ctx, tx, tasks); err != nil {
			return nil, fmt.Errorf("tasks: %w", err)
		}
		return topicsToNotify, nil
	})
}

// eventTasks returns the tasks that report the ended days of a head, and then the new
// results.
func (w *entryWriter) eventTasks(h *head, items ...*resultItem) (tasks []taskqueue.NewTask) {
	if w.events == nil {
		return nil
	}
	for _, day := range h.endedDays {
		tasks = append(tasks, w.events.TasksForEndedDay(h.game, day, h.now)...)
	}
	for _, item := range items {
		tasks = append(tasks, w.events.TasksForResult(item.result, h.now)...)
	}
	return w.withoutInvalid(h.game, tasks)
}

// correctionTasks returns the tasks that report the ended days of a head, and then a question
// of a match that became void.
func (w *entryWriter) correctionTasks(h *head, m match.Summary, question int) []taskqueue.NewTask {
	tasks := w.eventTasks(h)
	if w.events == nil {
		return tasks
	}
	return append(tasks, w.withoutInvalid(h.game, w.events.TasksForCorrection(m, question, h.now))...)
}

func (w *entryWriter) withoutInvalid(game string, tasks []taskqueue.NewTask) []taskqueue.NewTask {
	return slices.DeleteFunc(tasks, func(n taskqueue.NewTask) bool { return w.rejectInvalid(game, n) })
}

// rejectInvalid reports whether the queue can never accept a task, and then logs and counts
// it. The caller drops such a task, so that it does not block the result or the day.
func (w *entryWriter) rejectInvalid(game string, n taskqueue.NewTask) bool {
	err := n.Check()
	if err == nil {
		return false
	}
	w.droppedEvents.WithLabelValues(game).Inc()
	w.log.Error("event dropped: task queue refuses its task",
		"game", game, "topic", n.Topic, "key", n.Key, "error", err)
	return true
}

func newDroppedEvents(r prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_ledger_event_enqueue_failures_total", Help: "Events lost because the task queue refused their tasks; the log has the reason.",
	}, []string{"game"})
}
