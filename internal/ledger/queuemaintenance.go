package ledger

import (
	"context"
	"database/sql"
	"math"
	"strings"
	"time"

	"laststand/internal/taskqueue"
)

const (
	// lockMaintenance ensures that only one process at a time returns due tasks. Two
	// processes and a claim could deadlock, because each holds locks of tasks or queues
	// that the others need.
	lockMaintenance = `SELECT id FROM ledger_info WHERE id = 1 {free}`

	lockDue = `
SELECT ` + taskColumns + `, tasks.payload, {now} FROM tasks WHERE tasks.due_at <= (SELECT {now}) ORDER BY tasks.due_at LIMIT $1 {free}`
	selectNextDue = `SELECT tasks.due_at, {now} FROM tasks WHERE tasks.due_at IS NOT NULL ORDER BY tasks.due_at LIMIT 1`

	lockExpired  = `SELECT tasks.id, tasks.topic, tasks.priority FROM tasks WHERE tasks.ended_at < (SELECT {now}) - $1 ORDER BY tasks.ended_at LIMIT $2 {free}`
	deleteTasks  = `WITH v (id) AS ({rows}) DELETE FROM tasks WHERE id IN (SELECT v.id FROM v)`
	deleteQueues = `
WITH v (topic, priority, age) AS ({rows}), h AS (
    SELECT q.topic, q.priority FROM v JOIN queues q ON q.topic = v.topic AND q.priority = v.priority
    WHERE q.scan = q.pos AND q.head = '' AND q.moved_at < {now} - v.age AND NOT EXISTS (` + selectOneInQueue + `) {free})
DELETE FROM queues WHERE (queues.topic, queues.priority) IN (SELECT h.topic, h.priority FROM h)`
)

const (
	// keyTTL is how long an ended task is stored, so that its key cannot be added again.
	keyTTL = 7 * 24 * time.Hour
	// idleQueueTTL is how long a queue must be idle before it is deleted. It is shorter
	// than keyTTL, because a queue may change a moment after its last task has ended.
	idleQueueTTL = keyTTL - time.Hour
)

// ReturnDue implements taskqueue.MaintenanceStore. While another process runs ReturnDue,
// it does nothing and returns zeros.
func (m *TaskMaintenance) ReturnDue(ctx context.Context, n int) (returned taskqueue.DueCounts, err error) {
	defer describe(&err, "return due tasks")
	err = m.tasks.inQueueTx(ctx, func(tx *transaction) ([]string, error) {
		var id int64
		isMine, err := scanOptional(tx.queryRow(ctx, lockMaintenance), &id)
		if err != nil || !isMine {
			return nil, err
		}
		return m.tasks.changeLocked(ctx, tx, func(scan func(*sql.Rows) error) error {
			return scanAll(scan)(tx.query(ctx, lockDue, n))
		}, func(t *taskqueue.Task, now int64) error {
			t.HandleDue(now)
			returned.Count(t)
			return nil
		})
	})
	if err != nil { // nothing has changed
		return taskqueue.DueCounts{}, err
	}
	return returned, nil
}

// NextDue implements taskqueue.MaintenanceStore.
func (m *TaskMaintenance) NextDue(ctx context.Context) (wait time.Duration, ok bool, err error) {
	defer describe(&err, "next due task")
	var dueAt, now int64
	ok, err = scanOptional(m.queryRow(ctx, selectNextDue), &dueAt, &now)
	return time.Duration(min(max(0, dueAt-now), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, ok, err
}

// ForgetTasks implements taskqueue.MaintenanceStore. It also deletes the queues of these
// tasks if they are idle. It skips tasks and queues that another transaction has locked.
func (m *TaskMaintenance) ForgetTasks(ctx context.Context, n int) (_ int, err error) {
	defer describe(&err, "delete old tasks")
	var taskRows, queueRows [][]any
	err = m.inTx(ctx, func(tx *transaction) error {
		isListed := map[taskqueue.QueueID]bool{}
		err := scanAll(func(r *sql.Rows) error {
			var id string
			var queue taskqueue.QueueID
			err := r.Scan(&id, &queue.Topic, &queue.Priority)
			taskRows = append(taskRows, []any{id})
			if !isListed[queue] {
				isListed[queue] = true
				queueRows = append(queueRows, []any{queue.Topic, queue.Priority, idleQueueTTL.Milliseconds()})
			}
			return err
		})(tx.query(ctx, lockExpired, keyTTL.Milliseconds(), n))
		if err != nil {
			return err
		}
		return tx.bulkSteps(ctx, bulkStep{"tasks", deleteTasks, taskRows}, bulkStep{"queues", deleteQueues, queueRows})
	})
	return len(taskRows), err
}

const selectDepth = `
SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM tasks WHERE tasks.state = $1 AND {ended} LIMIT $2) AS h),
    COALESCE((SELECT {now} - h.created_at FROM (
        SELECT tasks.state, tasks.created_at FROM tasks WHERE (tasks.state, tasks.id) > ($1, '') AND {ended}
        ORDER BY tasks.state, tasks.id LIMIT 1) AS h WHERE h.state = $1), 0)`

// Depth implements taskqueue.MaintenanceStore.
func (m *TaskMaintenance) Depth(ctx context.Context, state taskqueue.State, maxCount int) (count int64, oldest time.Duration, err error) {
	defer describe(&err, "count tasks with state %s", state)
	var age int64
	text := strings.ReplaceAll(selectDepth, "{ended}", endedConditionFor(state))
	err = m.queryRow(ctx, text, string(state), maxCount).Scan(&count, &age)
	return count, time.Duration(max(0, age)) * time.Millisecond, err
}
