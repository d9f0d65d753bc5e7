package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"laststand/internal/taskqueue"
)

func compareQueues(a, b taskqueue.QueueID) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Priority, b.Priority))
}

// queueMoves collects what a transaction changes in queues.
type queueMoves struct {
	queues       map[taskqueue.QueueID]*queueMove
	orderingRows [][]any // rows of updateOrderings
}

// queueMove says which tasks get positions in a queue, and what happens to its head.
type queueMove struct {
	ordering     taskqueue.Ordering
	setsOrdering bool              // true: ordering replaces the queue's ordering; false: it applies to a new queue only
	appended     []*taskqueue.Task // tasks that get the next positions, in this order
	head         string            // id of the head that the queue stops waiting for; "": no change
	back         int64             // 1 if the head is delivered again: scan moves back to the position before it
}

func newQueueMoves() *queueMoves { return &queueMoves{queues: map[taskqueue.QueueID]*queueMove{}} }

// moveFor returns the move of a task's queue, and adds one if there is none.
func (m *queueMoves) moveFor(t *taskqueue.Task) *queueMove {
	if m.queues[t.QueueID()] == nil {
		m.queues[t.QueueID()] = &queueMove{}
	}
	return m.queues[t.QueueID()]
}

// append appends a new task to its queue, and sets the queue's ordering to the task's.
func (m *queueMoves) append(t *taskqueue.Task) {
	m.appendAgain(t)
	m.moveFor(t).setsOrdering = true
}

// appendAgain appends a task to its queue once more. The queue keeps its ordering.
func (m *queueMoves) appendAgain(t *taskqueue.Task) {
	move := m.moveFor(t)
	move.ordering = t.Ordering
	move.appended = append(move.appended, t)
}

// releaseHead records that a queue stops waiting for its head, and delivers it again if
// redeliver is true.
func (m *queueMoves) releaseHead(t *taskqueue.Task, redeliver bool) {
	move := m.moveFor(t)
	move.head = t.ID
	if redeliver {
		move.back = 1
	}
}

// updateQueues locks or creates each queue, in the order of its rows. The database
// computes the column ready from the others. A queue that becomes ready gets at least the
// least service (vtime) among the ready queues of its kind.
const updateQueues = `
WITH v (topic, priority, kind, ordering, many, head, back) AS ({rows}), k (kind, virtual_time) AS MATERIALIZED (
    SELECT g.kind, COALESCE(
        (SELECT q.virtual_time FROM queues q WHERE q.kind = g.kind AND q.ready = 1 ORDER BY q.virtual_time LIMIT 1),
        (SELECT q.virtual_time FROM queues q WHERE q.kind = g.kind AND q.ready = 0 ORDER BY q.virtual_time DESC LIMIT 1), 0)
    FROM (SELECT DISTINCT kind FROM v) AS g)
INSERT INTO queues (topic, priority, kind, ordering, pos, scan, head, virtual_time, moved_at)
SELECT topic, priority, kind, ordering, many, -back, head, (SELECT k.virtual_time FROM k WHERE k.kind = v.kind), {now}
FROM v WHERE true
ON CONFLICT (topic, priority) DO UPDATE SET
    pos = queues.pos + excluded.pos,
    scan = CASE WHEN queues.head = excluded.head THEN queues.scan + excluded.scan ELSE queues.scan END,
    head = CASE WHEN queues.head = excluded.head THEN '' ELSE queues.head END,
    virtual_time = CASE WHEN queues.ready = 0 AND queues.virtual_time < excluded.virtual_time THEN excluded.virtual_time ELSE queues.virtual_time END,
    moved_at = excluded.moved_at
RETURNING topic, priority, ordering, pos, scan, ready`

var updateOrderings = updateRows("queues", "topic, priority", "ordering")

// apply locks the queues and sets the positions of tasks. Until the commit, no other
// transaction can get a position in these queues. So positions are in commit order, and a
// reader that has read up to a position misses none.
func (m *queueMoves) apply(ctx context.Context, tx *transaction) {
	var rows [][]any
	for _, key := range slices.SortedFunc(maps.Keys(m.queues), compareQueues) {
		move := m.queues[key]
		rows = append(rows, []any{
			key.Topic, key.Priority, taskqueue.Kind(key.Topic), string(move.ordering), int64(len(move.appended)), move.head, move.back,
		})
	}
	tx.bulk(ctx, updateQueues, rows, func(rows *sql.Rows) error { return m.scanPositions(tx, rows) })
	tx.bulk(ctx, updateOrderings, m.orderingRows, nil)
}

// scanPositions scans a row that updateQueues returns. It sets the positions of the
// appended tasks, and notes whether the ordering must change and the topic be notified.
func (m *queueMoves) scanPositions(tx *transaction, rows *sql.Rows) error {
	var key taskqueue.QueueID
	var ordering taskqueue.Ordering
	var pos, scan, ready int64
	if err := rows.Scan(&key.Topic, &key.Priority, &ordering, &pos, &scan, &ready); err != nil {
		return err
	}
	move := m.queues[key]
	if move.setsOrdering && move.ordering != ordering {
		m.orderingRows = append(m.orderingRows, []any{key.Topic, key.Priority, string(move.ordering)})
	}
	first := pos - int64(len(move.appended))
	for i, t := range move.appended {
		t.Pos = first + int64(i) + 1
	}
	if ready == 1 && (first == scan || move.head != "") {
		tx.topics = append(tx.topics, key.Topic) // it had no ready task before, and has one now
	}
	return nil
}
