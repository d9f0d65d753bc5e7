package ledger

import (
	"context"
	"database/sql"
	"fmt"
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
RETURNING tasks.id, tasks.fence, tasks.topic, tasks.priority, (SELECT l.head FROM lines l WHERE l.topic = tasks.topic AND l.priority = tasks.priority)`

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
	h := leaseSet{}
	for _, lease := range leases {
		h[lease] = false
	}
	return h
}

// rows returns a row for each lease that was not found yet, with more values at its end.
// The rows are in the order in which all transactions lock tasks.
func (h leaseSet) rows(more ...any) (rows [][]any) {
	for lease, seen := range h {
		if !seen {
			rows = append(rows, append([]any{lease.ID, lease.Fence}, more...))
		}
	}
	slices.SortFunc(rows, func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	return rows
}

// scanLease reads a lease from a row and marks it as held.
func (h leaseSet) scanLease(rows *sql.Rows, more ...any) (lease taskqueue.Lease, err error) {
	err = rows.Scan(append([]any{&lease.ID, &lease.Fence}, more...)...)
	h[lease] = true
	return lease, err
}

// lost returns those of the leases that are not held, in their order.
func (h leaseSet) lost(leases []taskqueue.Lease) (lost []taskqueue.Lease) {
	for _, lease := range leases {
		if !h[lease] {
			lost = append(lost, lease)
		}
	}
	return lost
}

// Complete ends tasks as done, and returns the leases that were lost. A repeated call for
// a task that is done with the same lease succeeds.
func (l *Ledger) Complete(ctx context.Context, leases []taskqueue.Lease) ([]taskqueue.Lease, error) {
	h := newLeaseSet(leases)
	err := l.queueTx(ctx, func(tx *sql.Tx) ([]string, error) {
		moves, bulk := newQueueMoves(), l.bulk(tx)
		err := bulk.run(ctx, l.sql(completeTasks), h.rows(), func(rows *sql.Rows) error {
			var t taskqueue.Task
			var head string
			lease, err := h.scanLease(rows, &t.Topic, &t.Priority, &head)
			if t.ID = lease.ID; head == t.ID {
				moves.releaseHead(&t, false)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := bulk.run(ctx, selectEnded, h.rows(), h.markHeld); err != nil {
			return nil, err
		}
		err = l.applyMoves(ctx, tx, moves)
		return append(moves.woken, ""), err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: complete %d tasks: %w", len(leases), err)
	}
	return h.lost(leases), nil
}

// markHeld scans the lease of a row and marks it as held.
func (h leaseSet) markHeld(rows *sql.Rows) error {
	_, err := h.scanLease(rows)
	return err
}

// Renew extends leases: they end at the database's time plus lease. It returns the leases
// that were lost.
func (l *Ledger) Renew(ctx context.Context, leases []taskqueue.Lease, lease time.Duration) ([]taskqueue.Lease, error) {
	h := newLeaseSet(leases)
	err := l.inTx(ctx, func(tx *sql.Tx) error {
		return l.bulk(tx).run(ctx, l.sql(renewLeases), h.rows(lease.Milliseconds()), h.markHeld)
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: renew %d leases: %w", len(leases), err)
	}
	return h.lost(leases), nil
}

// Fail records failed attempts: a task waits for its next attempt, or is dead after the
// last one. It returns the leases that were lost.
func (l *Ledger) Fail(ctx context.Context, failed []taskqueue.FailedAttempt) ([]taskqueue.Lease, error) {
	causes := map[taskqueue.Lease]*taskqueue.FailedAttempt{}
	var leases []taskqueue.Lease
	for i := range failed {
		causes[failed[i].Lease] = &failed[i]
		leases = append(leases, failed[i].Lease)
	}
	lost, err := l.changeClaimed(ctx, leases, func(t *taskqueue.Task, now int64) error {
		return t.RecordFailure(now, causes[t.Lease()])
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: fail %d tasks: %w", len(leases), err)
	}
	return lost, nil
}

// Return returns tasks to their queues as if they had not been claimed. It returns the
// leases that were lost.
func (l *Ledger) Return(ctx context.Context, leases []taskqueue.Lease) ([]taskqueue.Lease, error) {
	lost, err := l.changeClaimed(ctx, leases, func(t *taskqueue.Task, _ int64) error {
		t.Return()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: return %d tasks: %w", len(leases), err)
	}
	return lost, nil
}

// changeClaimed calls change for each task whose lease is held and saves the tasks. It
// returns the leases that were lost.
func (l *Ledger) changeClaimed(ctx context.Context, leases []taskqueue.Lease, change func(t *taskqueue.Task, now int64) error) ([]taskqueue.Lease, error) {
	h := newLeaseSet(leases)
	err := l.queueTx(ctx, func(tx *sql.Tx) ([]string, error) {
		woken, err := l.changeLocked(ctx, tx, func(scan func(*sql.Rows) error) error {
			return l.bulk(tx).run(ctx, l.sql(lockClaimed), h.rows(), scan)
		}, func(t *taskqueue.Task, now int64) error {
			h[t.Lease()] = true
			return change(t, now)
		})
		return append(woken, ""), err
	})
	if err != nil {
		return nil, err
	}
	return h.lost(leases), nil
}

// changeLocked calls change for each task that lockTasks locks and passes to scan, and
// saves the tasks. It returns the topics to notify.
func (l *Ledger) changeLocked(
	ctx context.Context, tx *sql.Tx, lock func(scan func(*sql.Rows) error) error, change func(t *taskqueue.Task, now int64) error,
) ([]string, error) {
	var all []*taskChange
	var now int64
	err := lock(func(rows *sql.Rows) error {
		was, err := scanTask(rows, &now)
		if err != nil {
			return err
		}
		c := &taskChange{was, was}
		all = append(all, c)
		return change(&c.after, now)
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return l.saveChanges(ctx, tx, now, all)
}
