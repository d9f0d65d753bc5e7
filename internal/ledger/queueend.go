package ledger

import (
	"context"
	"slices"
	"strings"
	"time"

	"laststand/internal/taskqueue"
)

const (
	completeTasks = `
WITH v (id, fence) AS ({rows})
UPDATE tasks SET state = 'done', pos = NULL, due_at = NULL, tries = tasks.tries + 1, changed_at = {now}, ended_at = {now}
FROM v WHERE tasks.id = v.id AND tasks.fence = v.fence AND tasks.state = 'claimed'
RETURNING tasks.id, tasks.fence, tasks.topic, tasks.priority, (SELECT q.head FROM queues q WHERE q.topic = tasks.topic AND q.priority = tasks.priority)`

	selectEnded = `
WITH v (id, fence) AS ({rows})
SELECT tasks.id, tasks.fence FROM v JOIN tasks ON tasks.id = v.id AND tasks.fence = v.fence AND tasks.state = 'done'`

	renewLeases = `
WITH v (id, fence, lease) AS ({rows})
UPDATE tasks SET due_at = {now} + v.lease, changed_at = {now}
FROM v WHERE tasks.id = v.id AND tasks.fence = v.fence AND tasks.state = 'claimed' RETURNING tasks.id, tasks.fence`

	lockClaimed = `
WITH v (id, fence) AS ({rows})
SELECT ` + taskColumns + `, tasks.payload, {now} FROM v JOIN tasks ON tasks.id = v.id AND tasks.fence = v.fence AND tasks.state = 'claimed' {lock}`
)

// leaseSet maps each lease to whether a row has shown that it is still held.
type leaseSet map[taskqueue.Lease]bool

// pendingRows returns a row for each lease that was not found yet, with more values at its end.
// The rows are in the order in which all transactions lock tasks.
func (s leaseSet) pendingRows(more ...any) (pendingRows [][]any) {
	for lease, isHeld := range s {
		if !isHeld {
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
		tx.bulk(ctx, completeTasks, held.pendingRows(), eachRow(func() {
			held[t.Lease()] = true
			if head == t.ID {
				moves.releaseHead(&t, false)
			}
		}, &t.ID, &t.Fence, &t.Topic, &t.Priority, &head))
		tx.bulk(ctx, selectEnded, held.pendingRows(), held.markHeld())
		moves.apply(ctx, tx)
		return nil
	})
}

// Renew implements taskqueue.ClaimStore.
func (c *TaskClaims) Renew(ctx context.Context, leases []taskqueue.Lease, lease time.Duration) ([]taskqueue.Lease, error) {
	return c.endLeases(ctx, leases, func(tx *transaction, held leaseSet) error {
		tx.bulk(ctx, renewLeases, held.pendingRows(lease.Milliseconds()), held.markHeld())
		return nil
	})
}

// Fail implements taskqueue.ClaimStore.
func (c *TaskClaims) Fail(ctx context.Context, failed []taskqueue.FailedAttempt) ([]taskqueue.Lease, error) {
	causes := map[taskqueue.Lease]*taskqueue.FailedAttempt{}
	var leases []taskqueue.Lease
	for i := range failed {
		causes[failed[i].Lease] = &failed[i]
		leases = append(leases, failed[i].Lease)
	}
	return c.changeClaimed(ctx, leases, func(t *taskqueue.Task, now int64) error {
		return t.RecordFailure(now, causes[t.Lease()])
	})
}

// Return implements taskqueue.ClaimStore.
func (c *TaskClaims) Return(ctx context.Context, leases []taskqueue.Lease) ([]taskqueue.Lease, error) {
	return c.changeClaimed(ctx, leases, func(t *taskqueue.Task, _ int64) error {
		t.ReturnToQueue()
		return nil
	})
}

// changeClaimed calls change for each task whose lease is held and saves the tasks. It
// returns the leases that were lost.
func (c *TaskClaims) changeClaimed(ctx context.Context, leases []taskqueue.Lease, change func(t *taskqueue.Task, now int64) error) ([]taskqueue.Lease, error) {
	return c.endLeases(ctx, leases, func(tx *transaction, held leaseSet) error {
		tx.topics = append(tx.topics, "") // waits may start
		_, err := changeLocked(ctx, tx, func(scan scanFunc) {
			tx.bulk(ctx, lockClaimed, held.pendingRows(), scan)
		}, func(t *taskqueue.Task, now int64) error {
			held[t.Lease()] = true
			return change(t, now)
		})
		return err
	})
}
