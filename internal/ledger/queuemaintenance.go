package ledger

import (
	"context"
	"strings"
	"time"

	"laststand/internal/taskqueue"
)

var _ taskqueue.MaintenanceStore = (*TaskMaintenance)(nil)

// TaskMaintenance returns and deletes tasks whose time has come, and measures queues.
type TaskMaintenance struct{ *database }

const (
	// lockMaintenance ensures that only one process at a time returns due tasks. Of two, the
	// second can lock a task that the first has just returned, and then wait for the task's
	// queue. A claim that has locked that queue waits for the task: a deadlock.
	lockMaintenance = `SELECT id FROM ledger_info WHERE id = 1 {free}`

	lockDue = `
SELECT ` + taskColumns + `, tasks.payload, {now} FROM tasks WHERE tasks.due_at <= (SELECT {now}) ORDER BY tasks.due_at LIMIT $1 {free}`
	selectHasDue = `SELECT EXISTS (SELECT 1 FROM tasks WHERE tasks.due_at <= (SELECT {now}))`

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
	if hasDue, err := getValue[bool](ctx, m.database, selectHasDue); err != nil || !hasDue {
		return returned, err
	}
	err = m.inTx(ctx, func(tx *transaction) error {
		var id int64
		if !tx.get(ctx, into(&id), lockMaintenance) {
			return nil
		}
		_, err := changeLocked(ctx, tx, func(scan scanFunc) { tx.each(ctx, scan, lockDue, n) }, func(t *taskqueue.Task, now int64) error {
			t.HandleDue(now)
			returned.Count(t)
			return nil
		})
		return err
	})
	if err != nil { // nothing has changed
		return taskqueue.DueCounts{}, err
	}
	return returned, nil
}

// ForgetTasks implements taskqueue.MaintenanceStore. It also deletes the queues of these
// tasks if they are idle. It skips tasks and queues that another transaction has locked.
func (m *TaskMaintenance) ForgetTasks(ctx context.Context, n int) (int, error) {
	var taskRows, queueRows [][]any
	err := m.inTx(ctx, func(tx *transaction) error {
		isListed := map[taskqueue.QueueID]bool{}
		var id string
		var queue taskqueue.QueueID
		tx.each(ctx, eachRow(func() {
			taskRows = append(taskRows, []any{id})
			if !isListed[queue] {
				isListed[queue] = true
				queueRows = append(queueRows, []any{queue.Topic, queue.Priority, idleQueueTTL.Milliseconds()})
			}
		}, &id, &queue.Topic, &queue.Priority), lockExpired, keyTTL.Milliseconds(), n)
		tx.bulk(ctx, deleteTasks, taskRows, nil)
		tx.bulk(ctx, deleteQueues, queueRows, nil)
		return nil
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
	var age int64
	text := strings.ReplaceAll(selectDepth, "{ended}", endedConditionFor(state))
	_, err = m.get(ctx, into(&count, &age), text, string(state), maxCount)
	return count, time.Duration(max(0, age)) * time.Millisecond, err
}

// selectBacklogs reads the next kind by the index each time, because most queues may
// have the same kind. held has the tasks of queues that wait for their heads.
const selectBacklogs = `
WITH RECURSIVE kinds (kind) AS (
    SELECT CAST('' AS TEXT) UNION ALL
    SELECT (SELECT q.kind FROM queues q WHERE q.kind > kinds.kind ORDER BY q.kind LIMIT 1) FROM kinds WHERE kinds.kind IS NOT NULL),
held (kind, many) AS (
    SELECT h.kind, SUM(h.many) FROM (
        SELECT q.kind, q.pos - q.scan AS many FROM queues q WHERE q.head <> '' AND q.topic > '' LIMIT $2) AS h
    GROUP BY h.kind)
SELECT kinds.kind,
    (SELECT COUNT(*) FROM (SELECT 1 FROM queues q WHERE q.kind = kinds.kind AND q.ready = 1 LIMIT $2) AS h),
    CAST(COALESCE((SELECT SUM(h.many) FROM (SELECT q.pos - q.scan AS many FROM queues q WHERE q.kind = kinds.kind AND q.ready = 1 LIMIT $2) AS h), 0)
        + COALESCE((SELECT held.many FROM held WHERE held.kind = kinds.kind), 0) AS BIGINT)
FROM kinds WHERE kinds.kind <> '' LIMIT $1`

// Backlogs implements taskqueue.MaintenanceStore.
func (m *TaskMaintenance) Backlogs(ctx context.Context, maxKinds, maxQueues int) ([]taskqueue.Backlog, error) {
	return list(ctx, m.database, func(b *taskqueue.Backlog) []any { return into(&b.Kind, &b.Ready, &b.Tasks) }, selectBacklogs, maxKinds, maxQueues)
}
