package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"laststand/internal/taskqueue"
)

const (
	queueColumns = `l.topic, l.priority, l.ordering, l.pos, l.scan, l.done, l.head, l.again, l.vtime`

	selectReady = `
SELECT ` + queueColumns + ` FROM lines l WHERE l.kind = $1 AND l.ready = 1 ORDER BY l.vtime LIMIT $2 {free}`
	nextReady = `SELECT l.topic, l.priority FROM lines l WHERE l.kind = $1 AND l.ready = 1 ORDER BY l.vtime LIMIT 1`
	lockReady = `
SELECT ` + queueColumns + ` FROM lines l WHERE l.topic = $1 AND l.priority = $2 AND l.ready = 1 {lock}`

	// claimTasks looks up positions by a subquery instead of a join. With a join, the
	// planner might read all tasks with a position first, if it expects few of them.
	claimTasks = `
WITH v (topic, priority, pos, lease) AS ({rows})
UPDATE tasks SET state = 'claimed', fence = tasks.fence + 1, due_at = {now} + (SELECT v.lease FROM v LIMIT 1), changed_at = {now}
WHERE tasks.state = 'waiting' AND tasks.id {any}(
    SELECT (SELECT t.id FROM tasks t WHERE t.topic = v.topic AND t.priority = v.priority AND t.pos = v.pos) FROM v))
RETURNING ` + taskColumns + `, tasks.payload`

	moveScan = `
WITH v (topic, priority, was, scan, head, vtime) AS ({rows})
UPDATE lines SET scan = v.scan, head = v.head, again = 0, vtime = v.vtime
FROM v WHERE lines.topic = v.topic AND lines.priority = v.priority AND lines.scan = v.was`
)

// Claim claims up to n tasks of a kind for a worker, with a lease. It prefers queues with
// the least service. Inside a queue it claims in the order of positions. It returns none
// if no task is ready.
func (l *Ledger) Claim(ctx context.Context, kind string, n int, lease time.Duration) (tasks []taskqueue.Task, err error) {
	for more := true; more && len(tasks) == 0; { // a queue may have positions without tasks
		tasks, more, err = l.claimFrom(ctx, n, lease, l.sql(selectReady), kind, n)
		if err == nil && !more && l.skipLocked != "" {
			tasks, more, err = l.claimLocked(ctx, kind, n, lease)
		}
		if err != nil {
			return nil, fmt.Errorf("ledger: claim tasks of %s: %w", kind, err)
		}
	}
	if len(tasks) > 0 {
		l.notifyTopics([]string{""}) // leases have started
	}
	return tasks, nil
}

// claimLocked waits for the lock of one ready queue, and claims from it. It is called
// when other transactions have locked all ready queues. If a kind has only one queue,
// that is nearly always so. It returns retry = true if there was a ready queue.
//
// It chooses the queue before it waits. A query that chooses and waits would hold locks
// of rows that are not ready any more.
func (l *Ledger) claimLocked(ctx context.Context, kind string, n int, lease time.Duration) (tasks []taskqueue.Task, more bool, err error) {
	var line taskqueue.QueueID
	err = l.read.QueryRowContext(ctx, nextReady, kind).Scan(&line.Topic, &line.Priority)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err == nil {
		tasks, _, err = l.claimFrom(ctx, n, lease, l.sql(lockReady), line.Topic, line.Priority)
	}
	return tasks, true, err
}

// claimFrom claims in one transaction from the queues that a query finds and locks.
// found reports whether the query returned any queue.
func (l *Ledger) claimFrom(ctx context.Context, n int, lease time.Duration, query string, args ...any) (tasks []taskqueue.Task, found bool, err error) {
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		lines, err := scanQueues(tx.QueryContext(ctx, query, args...))
		if err != nil {
			return err
		}
		found = len(lines) > 0
		tasks, err = l.claimAllocations(ctx, tx, taskqueue.Allocate(lines, n), lease)
		return err
	})
	return tasks, found, err
}

// claimAllocations claims the tasks at the allocated positions, if they still exist.
func (l *Ledger) claimAllocations(ctx context.Context, tx *sql.Tx, shares []taskqueue.Allocation, lease time.Duration) (tasks []taskqueue.Task, err error) {
	var rows [][]any
	for _, s := range shares {
		for pos := s.First; pos <= s.Last; pos++ {
			rows = append(rows, []any{s.Queue.Topic, s.Queue.Priority, pos, lease.Milliseconds()})
		}
	}
	err = l.bulk(tx).run(ctx, l.sql(claimTasks), rows, func(rows *sql.Rows) error {
		t, err := scanTask(rows)
		tasks = append(tasks, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sortTasks(tasks), l.moveScan(ctx, tx, shares, tasks)
}

func scanQueues(rows *sql.Rows, err error) (lines []taskqueue.Queue, _ error) {
	err = scanAll(func(rows *sql.Rows) error {
		var line taskqueue.Queue
		var again int64
		err := rows.Scan(&line.Topic, &line.Priority, &line.Ordering, &line.Pos, &line.Scan, &line.Done, &line.Head, &again, &line.VTime)
		line.Redeliver = again == 1
		lines = append(lines, line)
		return err
	})(rows, err)
	return lines, err
}

func sortTasks(tasks []taskqueue.Task) []taskqueue.Task {
	slices.SortFunc(tasks, func(a, b taskqueue.Task) int {
		return cmp.Or(compareQueues(a.Queue(), b.Queue()), cmp.Compare(a.Pos, b.Pos))
	})
	return tasks
}

// moveScan moves the scan cursors of queues to the last allocated positions, and adds the
// service to the queues.
func (l *Ledger) moveScan(ctx context.Context, tx *sql.Tx, shares []taskqueue.Allocation, tasks []taskqueue.Task) error {
	claimed, last := map[taskqueue.QueueID]int64{}, map[taskqueue.QueueID]string{}
	for i := range tasks {
		key := tasks[i].Queue()
		claimed[key]++
		last[key] = tasks[i].ID
	}
	var rows [][]any
	for _, s := range shares {
		if s.Last < s.First {
			continue
		}
		line, was := s.Queue, s.Queue.Scan
		key := line.QueueID
		s.Advance(claimed[key], last[key])
		rows = append(rows, []any{line.Topic, line.Priority, was, line.Scan, line.Head, line.VTime})
	}
	return l.bulk(tx).run(ctx, moveScan, rows, nil)
}
