package ledger

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"laststand/internal/taskqueue"
)

// taskChange is a task before and after a change. The transaction has locked the task.
type taskChange struct{ before, after taskqueue.Task }

// saveChanges writes changed tasks that the transaction has locked, and updates their
// queues. now is the time of the change, epoch ms. It returns the topics to notify.
func (s *TaskStore) saveChanges(ctx context.Context, tx *transaction, now int64, changes []*taskChange) (topicsToNotify []string, err error) {
	heads, err := s.readQueueHeads(ctx, tx, changes)
	if err != nil {
		return nil, fmt.Errorf("heads: %w", err)
	}
	slices.SortFunc(changes, func(a, b *taskChange) int { // the order in which they return to their queues
		return cmp.Or(cmp.Compare(a.before.DueAt, b.before.DueAt), cmp.Compare(a.before.Pos, b.before.Pos), cmp.Compare(a.before.ID, b.before.ID))
	})
	moves := newQueueMoves()
	for _, c := range changes {
		c.after.ChangedAt = now
		c.addMoves(moves, heads[c.before.QueueID()] == c.before.ID)
	}
	if err := s.applyMoves(ctx, tx, moves); err != nil {
		return nil, fmt.Errorf("queues: %w", err)
	}
	rows, payloads, err := updateRows(changes)
	if err != nil {
		return nil, err
	}
	return moves.topicsToNotify, tx.bulkSteps(ctx, bulkStep{"tasks", updateTask, rows}, bulkStep{"payloads", updatePayload, payloads})
}

// addMoves adds to m what a change of state does to the task's queue. isHead says whether
// the task is the head for which an ordered queue waits. A head keeps its position while
// its queue waits for it: in state later, and in state dead if the ordering is pausing.
func (c *taskChange) addMoves(moves *queueMoves, isHead bool) {
	if c.after.State == c.before.State {
		return
	}
	keepsPosition := isHead && (c.after.State == taskqueue.StateLater || c.after.State == taskqueue.StateDead && c.after.Ordering == taskqueue.OrderedPausing)
	switch {
	case keepsPosition:
	case isHead:
		moves.releaseHead(&c.after, c.after.State == taskqueue.StateWaiting)
	case c.after.State == taskqueue.StateWaiting:
		moves.appendAgain(&c.after)
	}
	if !keepsPosition && c.after.State != taskqueue.StateWaiting {
		c.after.Pos = 0
	}
}

// readQueueHeads returns the id of the head of each task's queue, "" for none. It must run
// after the tasks were locked, because then these heads cannot change.
func (s *TaskStore) readQueueHeads(ctx context.Context, tx *transaction, changes []*taskChange) (map[taskqueue.QueueID]string, error) {
	heads := map[taskqueue.QueueID]string{}
	for _, c := range changes {
		if c.before.Pos > 0 {
			heads[c.before.QueueID()] = ""
		}
	}
	var rows [][]any
	for _, key := range slices.SortedFunc(maps.Keys(heads), compareQueues) {
		rows = append(rows, []any{key.Topic, key.Priority})
	}
	return heads, tx.bulk(ctx, selectHeads, rows, func(rows *sql.Rows) error {
		var key taskqueue.QueueID
		var head string
		err := rows.Scan(&key.Topic, &key.Priority, &head)
		heads[key] = head
		return err
	})
}

// updateRows returns the rows of updateTask. Payloads may be large, so it returns rows
// of updatePayload only for those that have changed.
func updateRows(changes []*taskChange) (rows, payloads [][]any, err error) {
	changes = slices.SortedFunc(slices.Values(changes), func(a, b *taskChange) int { return cmp.Compare(a.before.ID, b.before.ID) })
	for _, c := range changes {
		failures, err := json.Marshal(c.after.Errors)
		if err != nil {
			return nil, nil, err
		}
		endedAt := int64(0)
		if c.after.State == taskqueue.StateDone || c.after.State == taskqueue.StateDiscarded {
			endedAt = c.after.ChangedAt
		}
		t := &c.after
		rows = append(rows, []any{t.ID, string(t.State), t.Pos, t.DueAt, t.Tries, t.MaxTries, string(failures), t.ChangedAt, endedAt})
		if !bytes.Equal(c.before.Payload, t.Payload) {
			payloads = append(payloads, []any{t.ID, string(t.Payload)})
		}
	}
	return rows, payloads, nil
}

const (
	selectHeads = `
WITH v (topic, priority) AS ({rows})
SELECT q.topic, q.priority, q.head FROM v JOIN queues q ON q.topic = v.topic AND q.priority = v.priority`

	updateTask = `
WITH v (id, state, pos, due_at, tries, max_tries, errors, at, ended_at) AS ({rows})
UPDATE tasks SET state = v.state, pos = NULLIF(v.pos, 0), due_at = NULLIF(v.due_at, 0), tries = v.tries, max_tries = v.max_tries,
    errors = v.errors, changed_at = v.at, ended_at = NULLIF(v.ended_at, 0)
FROM v WHERE tasks.id = v.id`

	updatePayload = `WITH v (id, payload) AS ({rows}) UPDATE tasks SET payload = v.payload FROM v WHERE tasks.id = v.id`
)
