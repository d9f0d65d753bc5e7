package ledger

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

// taskChange is a task before and after a change. The transaction has locked the task.
type taskChange struct{ before, after taskqueue.Task }

// changeLocked calls change for each task that lockTasks locks and passes to scan, and
// saves the tasks with their queues. The argument now of change is the time, epoch ms.
func changeLocked(
	ctx context.Context, tx *transaction, lockTasks func(scan scanFunc), change func(t *taskqueue.Task, now int64) error,
) (changes []*taskChange, err error) {
	var locked []taskqueue.Task
	var now int64
	lockTasks(appendTo(&locked, func(t *taskqueue.Task) []any { return append(taskPointers(t), &now) }))
	if tx.err != nil || len(locked) == 0 {
		return nil, tx.err
	}
	for _, before := range locked {
		c := &taskChange{before, before}
		if err := change(&c.after, now); err != nil {
			return nil, err
		}
		c.after.ChangedAt = now
		changes = append(changes, c)
	}
	heads := readQueueHeads(ctx, tx, changes)
	slices.SortFunc(changes, func(a, b *taskChange) int { // the order in which they return to their queues
		return cmp.Or(cmp.Compare(a.before.DueAt, b.before.DueAt), cmp.Compare(a.before.Pos, b.before.Pos), cmp.Compare(a.before.ID, b.before.ID))
	})
	moves := newQueueMoves()
	for _, c := range changes {
		c.addMoves(moves, heads[c.before.QueueID()] == c.before.ID)
	}
	moves.apply(ctx, tx)
	saveChanges(ctx, tx, changes)
	return changes, tx.err
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
func readQueueHeads(ctx context.Context, tx *transaction, changes []*taskChange) map[taskqueue.QueueID]string {
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
	var key taskqueue.QueueID
	var head string
	tx.bulk(ctx, selectHeads, rows, eachRow(func() { heads[key] = head }, &key.Topic, &key.Priority, &head))
	return heads
}

// saveChanges saves changed tasks in the order of their ids. Payloads may be large, so it
// writes only those that have changed.
func saveChanges(ctx context.Context, tx *transaction, changes []*taskChange) {
	var rows, payloads [][]any
	for _, c := range slices.SortedFunc(slices.Values(changes), func(a, b *taskChange) int { return cmp.Compare(a.before.ID, b.before.ID) }) {
		t := &c.after
		endedAt := int64(0)
		if t.State == taskqueue.StateDone || t.State == taskqueue.StateDiscarded {
			endedAt = t.ChangedAt
		}
		rows = append(rows, []any{t.ID, string(t.State), t.Pos, t.DueAt, t.Tries, t.MaxTries, string(protocol.EncodeJSON(t.Errors)), t.ChangedAt, endedAt})
		if !bytes.Equal(c.before.Payload, t.Payload) {
			payloads = append(payloads, []any{t.ID, string(t.Payload)})
		}
	}
	tx.bulk(ctx, updateTask, rows, nil)
	tx.bulk(ctx, updatePayload, payloads, nil)
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
)

var updatePayload = updateRows("tasks", "id", "payload")
