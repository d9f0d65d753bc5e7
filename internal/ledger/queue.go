package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"laststand/internal/taskqueue"
)

// Transactions lock tasks before queues, and queues in the order of topic and priority. A
// claim never waits for the lock of a queue while it holds another. So transactions on
// queues cannot deadlock. If two ever did, the database would end one of them with an
// error for which IsUnavailable is true.

var (
	_ taskqueue.ClaimStore       = (*TaskClaims)(nil)
	_ taskqueue.Enqueuer         = (*TaskStore)(nil)
	_ taskqueue.MaintenanceStore = (*TaskMaintenance)(nil)
)

// inQueueTx runs f in one writing transaction, and then notifies the topics that f returns.
// It notifies even if the commit returns an error, because the commit may have succeeded
// nevertheless. A repeated call would then find nothing to notify.
func (s *TaskStore) inQueueTx(ctx context.Context, f func(*transaction) (topicsToNotify []string, err error)) error {
	var topicsToNotify []string
	err := s.inTx(ctx, func(tx *transaction) (err error) {
		topicsToNotify, err = f(tx)
		return err
	})
	s.notifyTopics(topicsToNotify)
	return err
}

// notifyTopics notifies topics that had no ready task before and have one now. The topic
// "" means that maintenance has work: a lease or a wait has started.
func (s *TaskStore) notifyTopics(topics []string) {
	if s.notifyTopic == nil {
		return
	}
	for _, topic := range topics {
		s.notifyTopic(topic)
	}
}

// Enqueue implements taskqueue.Enqueuer. If one task is invalid, it adds none and returns
// taskqueue.ErrBadTask. After an error of the commit itself it is unknown whether the tasks
// were added, and the caller can enqueue the same tasks again.
func (s *TaskStore) Enqueue(ctx context.Context, tasks []taskqueue.NewTask) (_ []taskqueue.Accepted, err error) {
	defer describe(&err, "enqueue %d tasks", len(tasks))
	var accepted []taskqueue.Accepted
	err = s.inQueueTx(ctx, func(tx *transaction) (topicsToNotify []string, err error) {
		accepted, topicsToNotify, err = s.enqueueInTx(ctx, tx, tasks)
		return topicsToNotify, err
	})
	if err != nil {
		return nil, err
	}
	return accepted, nil
}

// enqueueInTx does the work of Enqueue as the last step of a transaction. Only the commit may
// follow, because enqueue locks queues. The caller must notify the returned topics after
// the commit.
func (s *TaskStore) enqueueInTx(ctx context.Context, tx *transaction, tasks []taskqueue.NewTask) (accepted []taskqueue.Accepted, topicsToNotify []string, err error) {
	var now int64
	if slices.ContainsFunc(tasks, func(n taskqueue.NewTask) bool { return n.NotBefore > 0 }) {
		if err := tx.queryRow(ctx, "SELECT {now}").Scan(&now); err != nil {
			return nil, nil, err
		}
	}
	batch := newEnqueueBatch()
	for i := range tasks {
		if err := tasks[i].Check(); err != nil {
			return nil, nil, err
		}
		batch.add(tasks[i].Task(now))
	}
	if err := s.insertTasks(ctx, tx, batch); err != nil {
		return nil, nil, err
	}
	return batch.outcomes(tasks), batch.topicsToNotify, nil
}

// AddTask adds a task in the state that it has, for example a dead one. It sets the id
// and the times. The task is on disk when AddTask returns true. If the topic and game
// have the key already, AddTask changes nothing and returns false.
func (s *TaskStore) AddTask(ctx context.Context, t taskqueue.Task) (_ bool, err error) {
	defer describe(&err, "add task %s", t.Key)
	batch := newEnqueueBatch()
	batch.add(t)
	err = s.inQueueTx(ctx, func(tx *transaction) ([]string, error) {
		err := s.insertTasks(ctx, tx, batch)
		return batch.topicsToNotify, err
	})
	return err == nil && batch.byKey[taskKeyOf(&t)].isNew, err
}

// enqueueBatch holds tasks to add. If several have the same key, it holds the first.
type enqueueBatch struct {
	byKey          map[taskKey]*enqueueItem
	items          []*enqueueItem // in the order of the call, which is the order of their positions
	topicsToNotify []string       // set by insertTasks, see notifyTopics
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

// insertTasks assigns positions to the new tasks and inserts them. It reads existing keys
// first, so that they do not lock queues. If another transaction adds a key after that,
// no task gets the assigned position.
func (s *TaskStore) insertTasks(ctx context.Context, tx *transaction, batch *enqueueBatch) error {
	if err := tx.bulk(ctx, selectTasksByKey, batch.unresolvedKeys(), batch.scanKnown); err != nil {
		return fmt.Errorf("known keys: %w", err)
	}
	moves := newQueueMoves()
	for _, item := range batch.items {
		if !item.isKnown && item.State == taskqueue.StateWaiting {
			moves.append(&item.Task)
		}
	}
	if err := s.applyMoves(ctx, tx, moves); err != nil {
		return fmt.Errorf("queues: %w", err)
	}
	rows, err := batch.insertRows()
	if err != nil {
		return err
	}
	err = tx.bulk(ctx, insertTask, rows, func(rows *sql.Rows) error {
		var key taskKey
		if err := rows.Scan(&key.topic, &key.game, &key.key); err != nil {
			return err
		}
		batch.byKey[key].isNew = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	batch.topicsToNotify = moves.topicsToNotify
	if slices.ContainsFunc(batch.items, func(item *enqueueItem) bool { return item.isNew && item.State == taskqueue.StateLater }) {
		batch.topicsToNotify = append(batch.topicsToNotify, "")
	}
	if err := tx.bulk(ctx, selectTasksByKey, batch.unresolvedKeys(), batch.scanKnown); err != nil {
		return err
	}
	if unresolved := batch.unresolvedKeys(); len(unresolved) > 0 {
		return fmt.Errorf("%w: %d keys", errKeyDeleted, len(unresolved))
	}
	return nil
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
func (e *enqueueBatch) insertRows() (insertRows [][]any, err error) {
	sorted := slices.SortedFunc(slices.Values(e.items), func(a, b *enqueueItem) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Game, b.Game), cmp.Compare(a.Key, b.Key))
	})
	for _, item := range sorted {
		if item.isKnown {
			continue
		}
		failures, err := json.Marshal(item.Errors)
		if err != nil {
			return nil, err
		}
		insertRows = append(insertRows, []any{
			item.ID, item.Game, item.Topic, item.Key, item.Priority, string(item.Ordering), string(item.Payload), string(item.State), item.Pos, item.DueAt,
			item.Tries, item.MaxTries, string(failures),
		})
	}
	return insertRows, nil
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
