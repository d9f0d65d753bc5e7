package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

// Transactions lock tasks before queues, and queues in the order of topic and priority. A
// claim never waits for the lock of a queue while it holds another. So transactions on
// queues cannot deadlock. If two ever did, the database would end one of them with an
// error for which IsUnavailable is true.

var _ taskqueue.Enqueuer = (*TaskStore)(nil)

// Enqueue implements taskqueue.Enqueuer. If one task is invalid, it adds none and returns
// taskqueue.ErrBadTask. After an error of the commit itself it is unknown whether the tasks
// were added, and the caller can enqueue the same tasks again.
func (s *TaskStore) Enqueue(ctx context.Context, tasks []taskqueue.NewTask) (accepted []taskqueue.Accepted, err error) {
	err = s.inTx(ctx, func(tx *transaction) error {
		accepted, err = enqueue(ctx, tx, tasks)
		return err
	})
	if err != nil {
		return nil, err
	}
	return accepted, nil
}

// enqueueAll enqueues the tasks of events as the last step of a transaction: see enqueue. So
// the tasks exist if and only if the changes of the transaction do.
func enqueueAll(ctx context.Context, tx *transaction, tasks []taskqueue.NewTask) error {
	if len(tasks) == 0 {
		return nil
	}
	_, err := enqueue(ctx, tx, tasks)
	return err
}

// enqueue does the work of Enqueue as the last step of a transaction. Only the commit may
// follow, because enqueue locks queues.
func enqueue(ctx context.Context, tx *transaction, tasks []taskqueue.NewTask) ([]taskqueue.Accepted, error) {
	var now int64
	if slices.ContainsFunc(tasks, func(n taskqueue.NewTask) bool { return n.NotBefore > 0 }) {
		tx.get(ctx, into(&now), "SELECT {now}")
	}
	batch := newEnqueueBatch()
	for i := range tasks {
		if err := tasks[i].Check(); err != nil {
			return nil, err
		}
		batch.add(tasks[i].Task(now))
	}
	if err := batch.insert(ctx, tx); err != nil {
		return nil, err
	}
	return batch.outcomes(tasks), nil
}

// AddTask adds a task in the state that it has, for example a dead one. It sets the id
// and the times. The task is on disk when AddTask returns true. If the topic and game
// have the key already, AddTask changes nothing and returns false.
func (s *TaskStore) AddTask(ctx context.Context, t taskqueue.Task) (bool, error) {
	batch := newEnqueueBatch()
	batch.add(t)
	err := s.inTx(ctx, func(tx *transaction) error { return batch.insert(ctx, tx) })
	return err == nil && batch.items[0].isNew, err
}

// enqueueBatch holds tasks to add. If several have the same key, it holds the first.
type enqueueBatch struct {
	byKey map[taskKey]*enqueueItem
	items []*enqueueItem // in the order of the call, which is the order of their positions
}

type taskKey struct{ topic, game, key string }

func taskKeyOf(t *taskqueue.Task) taskKey { return taskKey{t.Topic, t.Game, t.Key} }

// enqueueItem is a task to add. If its key exists already, ID and State become those of
// the existing task.
type enqueueItem struct {
	taskqueue.Task

	isKnown bool // the key existed before
	isNew   bool // the task was inserted
}

func newEnqueueBatch() *enqueueBatch { return &enqueueBatch{byKey: map[taskKey]*enqueueItem{}} }

func (e *enqueueBatch) add(t taskqueue.Task) {
	key := taskKeyOf(&t)
	if e.byKey[key] == nil {
		t.ID = ulid.Make().String()
		e.byKey[key] = &enqueueItem{Task: t}
		e.items = append(e.items, e.byKey[key])
	}
}

// outcomes returns the outcomes of tasks, in their order.
func (e *enqueueBatch) outcomes(tasks []taskqueue.NewTask) []taskqueue.Accepted {
	all := make([]taskqueue.Accepted, len(tasks))
	for i, n := range tasks {
		item := e.byKey[taskKey{n.Topic, n.Game, n.Key}]
		all[i] = taskqueue.Accepted{ID: item.ID, State: item.State, New: item.isNew}
		item.isNew = false // a later task with the same key is not new
	}
	return all
}

// insert assigns positions to the new tasks and inserts them. It reads existing keys
// first, so that they do not lock queues. If another transaction adds a key after that,
// no task gets the assigned position.
func (e *enqueueBatch) insert(ctx context.Context, tx *transaction) error {
	tx.bulk(ctx, selectTasksByKey, e.unresolvedKeys(), e.scanKnown)
	moves := newQueueMoves()
	for _, item := range e.items {
		if !item.isKnown && item.State == taskqueue.StateWaiting {
			moves.append(&item.Task)
		}
	}
	moves.apply(ctx, tx)
	var key taskKey
	tx.bulk(ctx, insertTask, e.insertRows(), eachRow(func() { e.byKey[key].isNew = true }, &key.topic, &key.game, &key.key))
	tx.bulk(ctx, selectTasksByKey, e.unresolvedKeys(), e.scanKnown)
	if unresolved := e.unresolvedKeys(); tx.err == nil && len(unresolved) > 0 {
		return fmt.Errorf("%w: %d keys", errKeyDeleted, len(unresolved))
	}
	return tx.err
}

// unresolvedKeys returns the rows of selectTasksByKey: the keys of items that were neither
// found nor inserted yet.
func (e *enqueueBatch) unresolvedKeys() (rows [][]any) {
	for _, item := range e.items {
		if !item.isKnown && !item.isNew {
			rows = append(rows, []any{item.Topic, item.Game, item.Key})
		}
	}
	return rows
}

// scanKnown scans a row of selectTasksByKey: an existing task.
func (e *enqueueBatch) scanKnown(rows *sql.Rows) error {
	var key taskKey
	var id, state string
	if err := rows.Scan(&key.topic, &key.game, &key.key, &id, &state); err != nil {
		return err
	}
	item := e.byKey[key]
	item.isKnown, item.ID, item.State = true, id, taskqueue.State(state)
	return nil
}

// insertRows returns the rows of insertTask: the items whose keys are not known to exist,
// in the order in which all transactions lock keys.
func (e *enqueueBatch) insertRows() (rows [][]any) {
	sorted := slices.SortedFunc(slices.Values(e.items), func(a, b *enqueueItem) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Game, b.Game), cmp.Compare(a.Key, b.Key))
	})
	for _, item := range sorted {
		if item.isKnown {
			continue
		}
		rows = append(rows, []any{
			item.ID, item.Game, item.Topic, item.Key, item.Priority, string(item.Ordering), string(item.Payload), string(item.State), item.Pos, item.DueAt,
			item.Tries, item.MaxTries, string(protocol.EncodeJSON(item.Errors)),
		})
	}
	return rows
}

const (
	selectTasksByKey = `
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
