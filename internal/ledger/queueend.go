package ledger

import (
	"context"
	"database/sql"
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

func newLeaseSet(leases []taskqueue.Lease) leaseSet {
	s := leaseSet{}
	for _, lease := range leases {
		s[lease] = false
	}
	return s
}

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

// scanLease reads a lease from a row and marks it as held.
func (s leaseSet) scanLease(rows *sql.Rows, more ...any) (lease taskqueue.Lease, err error) {
	err = rows.Scan(append([]any{&lease.ID, &lease.Fence}, more...)...)
	s[lease] = true
	return lease, err
}

// lostLeases returns those of the leases that are not held, in their order.
func (s leaseSet) lostLeases(leases []taskqueue.Lease) (lostLeases []taskqueue.Lease) {
	for _, lease := range leases {
		if !s[lease] {
			lostLeases = append(lostLeases, lease)
		}
	}
	return lostLeases
}

// Complete implements taskqueue.ClaimStore.
func (c *TaskClaims) Complete(ctx context.Context, leases []taskqueue.Lease) (_ []taskqueue.Lease, err error) {
	defer describe(&err, "complete %d tasks", len(leases))
	held := newLeaseSet(leases)
	err = c.tasks.inQueueTx(ctx, func(tx *transaction) ([]string, error) {
		moves := newQueueMoves()
		err := tx.bulk(ctx, completeTasks, held.pendingRows(), func(rows *sql.Rows) error {
			var t taskqueue.Task
			var head string
			lease, err := held.scanLease(rows, &t.Topic, &t.Priority, &head)
			if t.ID = lease.ID; head == t.ID {
				moves.releaseHead(&t, false)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := tx.bulk(ctx, selectEnded, held.pendingRows(), held.markHeld); err != nil {
			return nil, err
		}
		err = c.tasks.applyMoves(ctx, tx, moves)
		return moves.topicsToNotify, err
	})
	if err != nil {
		return nil, err
	}
	return held.lostLeases(leases), nil
}

func (s leaseSet) markHeld(rows *sql.Rows) error {
	_, err := s.scanLease(rows)
	return err
}

// Renew implements taskqueue.ClaimStore.
func (c *TaskClaims) Renew(ctx context.Context, leases []taskqueue.Lease, lease time.Duration) (_ []taskqueue.Lease, err error) {
	defer describe(&err, "renew %d leases", len(leases))
	held := newLeaseSet(leases)
	err = c.inTx(ctx, func(tx *transaction) error {
		return tx.bulk(ctx, renewLeases, held.pendingRows(lease.Milliseconds()), held.markHeld)
	})
	if err != nil {
		return nil, err
	}
	return held.lostLeases(leases), nil
}

// Fail implements taskqueue.ClaimStore.
func (c *TaskClaims) Fail(ctx context.Context, failed []taskqueue.FailedAttempt) (_ []taskqueue.Lease, err error) {
	defer describe(&err, "fail %d tasks", len(failed))
	causes := map[taskqueue.Lease]*taskqueue.FailedAttempt{}
	var leases []taskqueue.Lease
	for i := range failed {
		causes[failed[i].Lease] = &failed[i]
		leases = append(leases, failed[i].Lease)
	}
	lost, err := c.changeClaimed(ctx, leases, func(t *taskqueue.Task, now int64) error {
		return t.RecordFailure(now, causes[t.Lease()])
	})
	return lost, err
}

// Return implements taskqueue.ClaimStore.
func (c *TaskClaims) Return(ctx context.Context, leases []taskqueue.Lease) (_ []taskqueue.Lease, err error) {
	defer describe(&err, "return %d tasks", len(leases))
	lost, err := c.changeClaimed(ctx, leases, func(t *taskqueue.Task, _ int64) error {
		t.ReturnToQueue()
		return nil
	})
	return lost, err
}

// changeClaimed calls change for each task whose lease is held and saves the tasks. It
// returns the leases that were lost.
func (c *TaskClaims) changeClaimed(ctx context.Context, leases []taskqueue.Lease, change func(t *taskqueue.Task, now int64) error) ([]taskqueue.Lease, error) {
	held := newLeaseSet(leases)
	err := c.tasks.inQueueTx(ctx, func(tx *transaction) ([]string, error) {
		topicsToNotify, err := c.tasks.changeLocked(ctx, tx, func(scan func(*sql.Rows) error) error {
			return tx.bulk(ctx, lockClaimed, held.pendingRows(), scan)
		}, func(t *taskqueue.Task, now int64) error {
			held[t.Lease()] = true
			return change(t, now)
		})
		return append(topicsToNotify, ""), err
	})
	if err != nil {
		return nil, err
	}
	return held.lostLeases(leases), nil
}

// changeLocked calls change for each task that lockTasks locks and passes to scan, and
// saves the tasks. It returns the topics to notify.
func (s *TaskStore) changeLocked(
	ctx context.Context, tx *transaction, lockTasks func(scan func(*sql.Rows) error) error, change func(t *taskqueue.Task, now int64) error,
) ([]string, error) {
	var changes []*taskChange
	var now int64
	err := lockTasks(func(rows *sql.Rows) error {
		before, err := scanTask(rows, &now)
		if err != nil {
			return err
		}
		c := &taskChange{before, before}
		changes = append(changes, c)
		return change(&c.after, now)
	})
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	return s.saveChanges(ctx, tx, now, changes)
}
