package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"laststand/internal/taskqueue"
)

var _ taskqueue.ClaimStore = (*TaskClaims)(nil)

// TaskClaims claims tasks for workers and ends the claims.
type TaskClaims struct {
	*database

	topicPrefix string // claims of tasks whose topics start differently are lost
}

// OfTopics returns the claims of the tasks whose topics have a prefix.
func (c *TaskClaims) OfTopics(prefix string) taskqueue.ClaimStore {
	return &TaskClaims{c.database, prefix}
}

const (
	selectReady = `
SELECT ` + queueColumns + `, 0 FROM queues q WHERE q.kind = $1 AND q.ready = 1 ORDER BY q.virtual_time LIMIT $2 {free}`
	selectNextReady = `SELECT q.topic, q.priority FROM queues q WHERE q.kind = $1 AND q.ready = 1 ORDER BY q.virtual_time LIMIT 1`
	lockReady       = `
SELECT ` + queueColumns + `, 0 FROM queues q WHERE q.topic = $1 AND q.priority = $2 AND q.ready = 1 {lock}`

	// claimTasks looks up positions by a subquery instead of a join. With a join, the
	// planner might read all tasks with a position first, if it expects few of them.
	claimTasks = `
WITH v (topic, priority, pos, lease) AS ({rows})
UPDATE tasks SET state = 'claimed', fence = tasks.fence + 1, due_at = {now} + (SELECT v.lease FROM v LIMIT 1), changed_at = {now}
WHERE tasks.state = 'waiting' AND tasks.id {any}(
    SELECT (SELECT t.id FROM tasks t WHERE t.topic = v.topic AND t.priority = v.priority AND t.pos = v.pos) FROM v))
RETURNING ` + taskColumns + `, tasks.payload`

	moveScan = `
WITH v (topic, priority, was, scan, head, virtual_time) AS ({rows})
UPDATE queues SET scan = v.scan, head = v.head, virtual_time = v.virtual_time
FROM v WHERE queues.topic = v.topic AND queues.priority = v.priority AND queues.scan = v.was`
)

// Claim implements taskqueue.ClaimStore. It prefers queues with the least service.
func (c *TaskClaims) Claim(ctx context.Context, kind string, n int, lease time.Duration) (tasks []taskqueue.Task, err error) {
	for retry := true; retry && len(tasks) == 0; { // a queue may have positions without tasks
		tasks, retry, err = c.claimFromQueues(ctx, n, lease, selectReady, kind, n)
		if err == nil && !retry && c.skipLocked != "" {
			tasks, retry, err = c.claimAfterWait(ctx, kind, n, lease)
		}
		if err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// claimAfterWait waits for the lock of one ready queue, and claims from it. It is called
// when other transactions have locked all ready queues. If a kind has only one queue,
// that is nearly always so. It returns retry = true if there was a ready queue.
//
// It chooses the queue before it waits. A query that chooses and waits would hold locks
// of rows that are not ready any more.
func (c *TaskClaims) claimAfterWait(ctx context.Context, kind string, n int, lease time.Duration) (tasks []taskqueue.Task, retry bool, err error) {
	var queue taskqueue.QueueID
	found, err := c.get(ctx, into(&queue.Topic, &queue.Priority), selectNextReady, kind)
	if found {
		tasks, _, err = c.claimFromQueues(ctx, n, lease, lockReady, queue.Topic, queue.Priority)
	}
	return tasks, found, err
}

// claimFromQueues claims in one transaction from the queues that a query finds and locks.
// found reports whether the query returned any queue.
func (c *TaskClaims) claimFromQueues(ctx context.Context, n int, lease time.Duration, query string, args ...any) (tasks []taskqueue.Task, found bool, err error) {
	err = c.inTx(ctx, func(tx *transaction) error {
		var queues []taskqueue.Queue
		tx.each(ctx, appendTo(&queues, queuePointers), query, args...)
		found = len(queues) > 0
		tasks = claimAllocations(ctx, tx, taskqueue.Allocate(queues, n), lease)
		return nil
	})
	return tasks, found, err
}

// claimAllocations claims the tasks at the allocated positions, if they still exist.
func claimAllocations(ctx context.Context, tx *transaction, allocations []taskqueue.Allocation, lease time.Duration) (tasks []taskqueue.Task) {
	var rows [][]any
	for _, s := range allocations {
		for pos := s.First; pos <= s.Last; pos++ {
			rows = append(rows, []any{s.Queue.Topic, s.Queue.Priority, pos, lease.Milliseconds()})
		}
	}
	tx.bulk(ctx, claimTasks, rows, appendTo(&tasks, taskPointers))
	sortTasks(tasks)
	moveScanCursors(ctx, tx, allocations, tasks)
	return tasks
}

func sortTasks(tasks []taskqueue.Task) []taskqueue.Task {
	slices.SortFunc(tasks, func(a, b taskqueue.Task) int {
		return cmp.Or(compareQueues(a.QueueID(), b.QueueID()), cmp.Compare(a.Pos, b.Pos))
	})
	return tasks
}

// moveScanCursors moves the scan cursors of queues to the last allocated positions, and adds the
// service to the queues.
func moveScanCursors(ctx context.Context, tx *transaction, allocations []taskqueue.Allocation, tasks []taskqueue.Task) {
	claimedCount, lastID := map[taskqueue.QueueID]int64{}, map[taskqueue.QueueID]string{}
	for i := range tasks {
		key := tasks[i].QueueID()
		claimedCount[key]++
		lastID[key] = tasks[i].ID
	}
	var rows [][]any
	for _, s := range allocations {
		if s.Last < s.First {
			continue
		}
		queue, formerScan := s.Queue, s.Queue.Scan
		s.AdvanceQueue(claimedCount[queue.QueueID], lastID[queue.QueueID])
		rows = append(rows, []any{queue.Topic, queue.Priority, formerScan, queue.Scan, queue.Head, queue.VirtualTime})
	}
	tx.bulk(ctx, moveScan, rows, nil)
}

const (
	// hasLease is the condition that a task has the lease in a row of leaseSet.
	hasLease = `tasks.id = v.id AND tasks.fence = v.fence AND SUBSTR(tasks.topic, 1, LENGTH(v.prefix)) = v.prefix`

	completeTasks = `
WITH v (id, fence, prefix) AS ({rows})
UPDATE tasks SET state = 'done', pos = NULL, due_at = NULL, tries = tasks.tries + 1, changed_at = {now}, ended_at = {now}
FROM v WHERE ` + hasLease + ` AND tasks.state = 'claimed'
RETURNING tasks.id, tasks.fence, tasks.topic, tasks.priority, (SELECT q.head FROM queues q WHERE q.topic = tasks.topic AND q.priority = tasks.priority)`

	selectEnded = `
WITH v (id, fence, prefix) AS ({rows})
SELECT tasks.id, tasks.fence FROM v JOIN tasks ON ` + hasLease + ` AND tasks.state = 'done'`

	renewLeases = `
WITH v (id, fence, prefix, lease) AS ({rows})
UPDATE tasks SET due_at = {now} + v.lease, changed_at = {now}
FROM v WHERE ` + hasLease + ` AND tasks.state = 'claimed' RETURNING tasks.id, tasks.fence`

	lockClaimed = `
WITH v (id, fence, prefix) AS ({rows})
SELECT ` + taskColumns + `, tasks.payload, {now} FROM v JOIN tasks ON ` + hasLease + ` AND tasks.state = 'claimed' {lock}`
)

// leaseSet maps each lease to whether a row has shown that it is still held.
type leaseSet map[taskqueue.Lease]bool

// pendingRows returns a row for each lease that was not found yet, with more values at its end.
// The rows are in the order in which all transactions lock tasks. A text that is no id has none.
func (s leaseSet) pendingRows(more ...any) (pendingRows [][]any) {
	for lease, isHeld := range s {
		if !isHeld && !isInvalidID(lease.ID) {
			pendingRows = append(pendingRows, append([]any{lease.ID, lease.Fence}, more...))
		}
	}
	slices.SortFunc(pendingRows, func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	return pendingRows
}

// markHeld returns a function that scans the id and the fence of a lease that is held.
func (s leaseSet) markHeld() scanFunc {
	var lease taskqueue.Lease
	return eachRow(func() { s[lease] = true }, &lease.ID, &lease.Fence)
}

// endLeases runs f in a transaction. f marks those leases that are held, and endLeases returns
// the others, which were lost.
func (c *TaskClaims) endLeases(ctx context.Context, leases []taskqueue.Lease, f func(*transaction, leaseSet) error) ([]taskqueue.Lease, error) {
	held := leaseSet{}
	for _, lease := range leases {
		held[lease] = false
	}
	if err := c.inTx(ctx, func(tx *transaction) error { return f(tx, held) }); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(leases), func(lease taskqueue.Lease) bool { return held[lease] }), nil
}

// Complete implements taskqueue.ClaimStore.
func (c *TaskClaims) Complete(ctx context.Context, leases []taskqueue.Lease) ([]taskqueue.Lease, error) {
	return c.endLeases(ctx, leases, func(tx *transaction, held leaseSet) error {
		moves := newQueueMoves()
		var t taskqueue.Task
		var head string
		tx.bulk(ctx, completeTasks, held.pendingRows(c.topicPrefix), eachRow(func() {
			held[t.Lease()] = true
			if head == t.ID {
				moves.releaseHead(&t, false)
			}
		}, &t.ID, &t.Fence, &t.Topic, &t.Priority, &head))
		tx.bulk(ctx, selectEnded, held.pendingRows(c.topicPrefix), held.markHeld())
		moves.apply(ctx, tx)
		return nil
	})
}

// Renew implements taskqueue.ClaimStore.
func (c *TaskClaims) Renew(ctx context.Context, leases []taskqueue.Lease, lease time.Duration) ([]taskqueue.Lease, error) {
	return c.endLeases(ctx, leases, func(tx *transaction, held leaseSet) error {
		tx.bulk(ctx, renewLeases, held.pendingRows(c.topicPrefix, lease.Milliseconds()), held.markHeld())
		return nil
	})
}

// Fail implements taskqueue.ClaimStore.
func (c *TaskClaims) Fail(ctx context.Context, failed []taskqueue.FailedAttempt) ([]taskqueue.Lease, error) {
	attempts := map[taskqueue.Lease]*taskqueue.FailedAttempt{}
	var leases []taskqueue.Lease
	for i := range failed {
		if lease := failed[i].Lease; attempts[lease] == nil {
			attempts[lease], leases = &failed[i], append(leases, lease)
		}
	}
	return c.endLeases(ctx, leases, func(tx *transaction, held leaseSet) error {
		_, err := changeLocked(ctx, tx, func(scan scanFunc) {
			tx.bulk(ctx, lockClaimed, held.pendingRows(c.topicPrefix), scan)
		}, func(t *taskqueue.Task, now int64) error {
			held[t.Lease()] = true
			t.RecordFailure(now, attempts[t.Lease()])
			return nil
		})
		return err
	})
}
