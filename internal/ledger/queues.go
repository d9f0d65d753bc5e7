package ledger

import (
	"context"
	"strings"

	"laststand/internal/taskqueue"
)

const (
	// selectQueues computes Queue.Done. Up to scan, a position without a task is free for
	// ever: its task has ended or left the queue.
	selectQueues = `
SELECT ` + queueColumns + `, COALESCE((
    SELECT tasks.pos - 1 FROM tasks WHERE tasks.topic = q.topic AND tasks.priority = q.priority AND tasks.pos <= q.scan
    ORDER BY tasks.pos LIMIT 1), q.scan)
FROM queues q WHERE (q.topic, q.priority) > ($1, $2){chosen} ORDER BY q.topic, q.priority LIMIT $3`
	busyQueue = "(q.ready = 1 OR EXISTS (" + selectOneInQueue + "))"

	selectOneInQueue = `SELECT 1 FROM tasks WHERE tasks.topic = q.topic AND tasks.priority = q.priority AND tasks.pos IS NOT NULL`

	// selectBacklogs reads the next kind by the index each time, because most queues may
	// have the same kind. held has the tasks of queues that wait for their heads.
	selectBacklogs = `
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
)

// Queues returns up to limit (at least 1) queues that match a filter, in the order of
// topic and priority. It returns the cursor of the next page, "" after the last. The error
// is taskqueue.ErrBadCursor for a cursor that Queues has not returned.
func (s *TaskStore) Queues(ctx context.Context, f taskqueue.QueueFilter, cursor string, limit int) (page []taskqueue.Queue, next string, err error) {
	var after taskqueue.QueueID // "" is before all topics
	if cursor != "" {
		var ok bool
		if after.Priority, after.Topic, ok = parseCursor(cursor); !ok {
			return nil, "", taskqueue.ErrBadCursor
		}
	}
	defer describe(&err, "queues")
	condition, args := andEqual([]any{after.Topic, after.Priority, limit + 1}, columnValue{"q.kind", f.Kind}, columnValue{"q.topic", f.Topic})
	if f.Busy {
		condition += " AND " + busyQueue
	}
	page, err = scanQueues(s.query(ctx, strings.Replace(selectQueues, "{chosen}", condition, 1), args...))
	page, next = cutPage(page, limit, func(last *taskqueue.Queue) string { return newCursor(last.Priority, last.Topic) })
	return page, next, err
}

// Backlogs implements taskqueue.MaintenanceStore.
func (m *TaskMaintenance) Backlogs(ctx context.Context, maxKinds, maxQueues int) (all []taskqueue.Backlog, err error) {
	defer describe(&err, "backlogs")
	all, err = collect(func(b *taskqueue.Backlog) []any { return []any{&b.Kind, &b.Ready, &b.Tasks} })(m.query(ctx, selectBacklogs, maxKinds, maxQueues))
	return all, err
}
