package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"laststand/internal/taskqueue"
)

// Transactions lock tasks before queues, and queues by topic and priority. A claim never
// waits for a queue while it holds one. So transactions of the queue cannot deadlock. If
// two ever did, the database would end one of them with an error for which Unavailable
// holds.

var (
	_ taskqueue.Claims           = (*Ledger)(nil)
	_ taskqueue.Enqueuer         = (*Ledger)(nil)
	_ taskqueue.MaintenanceStore = (*Ledger)(nil)
)

// queueTx runs f in one writing transaction, and notifies the topics that f returns. It
// notifies even if the commit fails, because the commit may have succeeded, and a second
// call would find nothing to notify.
func (l *Ledger) queueTx(ctx context.Context, f func(*sql.Tx) (woken []string, err error)) error {
	var woken []string
	err := l.inTx(ctx, func(tx *sql.Tx) (err error) {
		woken, err = f(tx)
		return err
	})
	l.notifyTopics(woken)
	return err
}

// notifyTopics notifies topics that had no ready task before and have one now. The topic
// "" stands for maintenance: a lease or a wait has begun, or a cursor may move.
func (l *Ledger) notifyTopics(topics []string) {
	if l.notifyWoken == nil {
		return
	}
	for _, topic := range topics {
		l.notifyWoken(topic)
	}
}

// Enqueue adds tasks to their queues in one transaction. It returns the outcomes, in
// order, when everything is on disk. If a key exists already, the outcome is the first
// task with that key. The error taskqueue.ErrBadTask refuses all tasks. After an error
// of the commit itself the outcome is unknown, and the caller can enqueue the same tasks
// again.
func (l *Ledger) Enqueue(ctx context.Context, tasks []taskqueue.NewTask) ([]taskqueue.Accepted, error) {
	var accepted []taskqueue.Accepted
	err := l.queueTx(ctx, func(tx *sql.Tx) (woken []string, err error) {
		accepted, woken, err = l.enqueue(ctx, tx, tasks)
		return woken, err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: enqueue %d tasks: %w", len(tasks), err)
	}
	return accepted, nil
}

// enqueue is Enqueue as the last step of a transaction. Only the commit may follow,
// because queues are locked from here on. The caller notifies the woken topics after the
// commit.
func (l *Ledger) enqueue(ctx context.Context, tx *sql.Tx, tasks []taskqueue.NewTask) (accepted []taskqueue.Accepted, woken []string, err error) {
	var now int64
	if slices.ContainsFunc(tasks, func(n taskqueue.NewTask) bool { return n.NotBefore > 0 }) {
		if err := tx.QueryRowContext(ctx, l.sql("SELECT {now}")).Scan(&now); err != nil {
			return nil, nil, err
		}
	}
	in := newEnqueueBatch()
	for i := range tasks {
		if err := tasks[i].Check(); err != nil {
			return nil, nil, err
		}
		in.add(tasks[i].Task(now))
	}
	if err := l.insertTasks(ctx, tx, in); err != nil {
		return nil, nil, err
	}
	return in.accepted(tasks), in.woken, nil
}

// AddTask adds a task in a given state, for example a dead one. It sets the id and the
// times. The task is on disk when AddTask returns. It reports false, and changes
// nothing, if the game and topic have the key already.
func (l *Ledger) AddTask(ctx context.Context, t taskqueue.Task) (bool, error) {
	in := newEnqueueBatch()
	in.add(t)
	err := l.queueTx(ctx, func(tx *sql.Tx) ([]string, error) {
		err := l.insertTasks(ctx, tx, in)
		return in.woken, err
	})
	if err != nil {
		return false, fmt.Errorf("ledger: add task %s: %w", t.Key, err)
	}
	return in.byKey[keyOfTask(&t)].isNew, nil
}

// enqueueBatch holds tasks to be added, each key once.
type enqueueBatch struct {
	byKey map[taskKey]*enqueueItem
	items []*enqueueItem // in the given order, which is the order of their positions
	woken []string
}

type taskKey struct{ topic, game, key string }

func keyOfTask(t *taskqueue.Task) taskKey { return taskKey{t.Topic, t.Game, t.Key} }

// enqueueItem is a task to be added. If its key exists already, it becomes that task.
type enqueueItem struct {
	taskqueue.Task

	isKnown, isNew bool
}

func newEnqueueBatch() *enqueueBatch { return &enqueueBatch{byKey: map[taskKey]*enqueueItem{}} }

func (in *enqueueBatch) add(t taskqueue.Task) {
	key := keyOfTask(&t)
	if in.byKey[key] == nil {
		t.ID = ulid.Make().String()
		in.byKey[key] = &enqueueItem{Task: t}
		in.items = append(in.items, in.byKey[key])
	}
}

func (in *enqueueBatch) accepted(tasks []taskqueue.NewTask) []taskqueue.Accepted {
	all := make([]taskqueue.Accepted, len(tasks))
	for i, n := range tasks {
		it := in.byKey[taskKey{n.Topic, n.Game, n.Key}]
		all[i] = taskqueue.Accepted{ID: it.ID, State: it.State, New: it.isNew}
		it.isNew = false // for the same key again
	}
	return all
}

// insertTasks gives the new tasks their positions and writes them. It looks up known
// keys first, so that they do not lock queues. If another transaction adds a key in
// between, the position stays empty.
func (l *Ledger) insertTasks(ctx context.Context, tx *sql.Tx, in *enqueueBatch) error {
	bulk := l.bulk(tx)
	if err := bulk.run(ctx, selectFirst, in.unknownKeys(), in.scanFirst); err != nil {
		return fmt.Errorf("known keys: %w", err)
	}
	moves := newQueueMoves()
	for _, it := range in.items {
		if !it.isKnown && it.State == taskqueue.Waiting {
			moves.append(&it.Task)
		}
	}
	if err := l.applyMoves(ctx, tx, moves); err != nil {
		return fmt.Errorf("lines: %w", err)
	}
	rows, err := in.rows()
	if err != nil {
		return err
	}
	if err := bulk.run(ctx, l.sql(insertTask), rows, in.scanInserted); err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	in.woken = moves.woken
	if slices.ContainsFunc(in.items, func(it *enqueueItem) bool { return it.isNew && it.State == taskqueue.Later }) {
		in.woken = append(in.woken, "")
	}
	if err := bulk.run(ctx, selectFirst, in.unknownKeys(), in.scanFirst); err != nil {
		return err
	}
	if left := in.unknownKeys(); len(left) > 0 {
		return fmt.Errorf("%w: %d keys", errKeyForgotten, len(left))
	}
	return nil
}

// errKeyForgotten means that a key existed at the insert and was deleted before it was
// read. The queue acknowledges only tasks that exist.
var errKeyForgotten = errors.New("a key was forgotten as it was enqueued once more: enqueue it again")

// byKeys returns the items in the order in which all transactions lock keys.
func (in *enqueueBatch) byKeys() []*enqueueItem {
	return slices.SortedFunc(slices.Values(in.items), func(a, b *enqueueItem) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Game, b.Game), cmp.Compare(a.Key, b.Key))
	})
}

// unknownKeys returns the rows of selectFirst: keys about which nothing is known yet.
func (in *enqueueBatch) unknownKeys() (rows [][]any) {
	for _, it := range in.items {
		if !it.isKnown && !it.isNew {
			rows = append(rows, []any{it.Topic, it.Game, it.Key})
		}
	}
	return rows
}

func (in *enqueueBatch) scanFirst(rows *sql.Rows) error {
	var key taskKey
	var id, state string
	if err := rows.Scan(&key.topic, &key.game, &key.key, &id, &state); err != nil {
		return err
	}
	it := in.byKey[key]
	it.isKnown, it.ID, it.State = true, id, taskqueue.State(state)
	return nil
}

// rows returns the rows of insertTask.
func (in *enqueueBatch) rows() (rows [][]any, err error) {
	for _, it := range in.byKeys() {
		if it.isKnown {
			continue
		}
		failures, err := json.Marshal(it.Errors)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []any{
			it.ID, it.Game, it.Topic, it.Key, it.Priority, string(it.Ordering), string(it.Payload), string(it.State), it.Pos, it.DueAt,
			it.Tries, it.MaxTries, string(failures),
		})
	}
	return rows, nil
}

func (in *enqueueBatch) scanInserted(rows *sql.Rows) error {
	var key taskKey
	if err := rows.Scan(&key.topic, &key.game, &key.key); err != nil {
		return err
	}
	in.byKey[key].isNew = true
	return nil
}

const (
	selectFirst = `
WITH v (topic, game, key) AS ({rows})
SELECT tasks.topic, tasks.game, tasks.key, tasks.id, tasks.state FROM v JOIN tasks ON tasks.topic = v.topic AND tasks.game = v.game AND tasks.key = v.key`

	insertTask = `
WITH v (id, game, topic, key, priority, ordering, payload, state, pos, due_at, tries, max_tries, errors) AS ({rows})
INSERT INTO tasks (id, game, topic, key, priority, ordering, payload, state, pos, fence, due_at, tries, max_tries, errors,
    created_at, changed_at, ended_at)
SELECT id, game, topic, key, priority, ordering, payload, state, NULLIF(pos, 0), 0, NULLIF(due_at, 0), tries, max_tries, errors,
    {now}, {now}, CASE WHEN state IN ('done', 'discarded') THEN {now} END
FROM v WHERE true
ON CONFLICT (topic, game, key) DO NOTHING RETURNING topic, game, key`
)
