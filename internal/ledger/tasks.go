package ledger

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
)

const (
	taskColumns = `
    tasks.id, tasks.game, tasks.topic, tasks.key, tasks.priority, tasks.ordering, tasks.state, COALESCE(tasks.pos, 0), tasks.fence, COALESCE(tasks.due_at, 0),
    tasks.tries, tasks.max_tries, tasks.errors, tasks.created_at, tasks.changed_at`

	selectTask  = `SELECT ` + taskColumns + `, tasks.payload FROM tasks WHERE tasks.id = $1`
	selectTasks = `SELECT ` + taskColumns + `, NULL FROM tasks WHERE {chosen} LIMIT $2`
	lockTask    = `SELECT ` + taskColumns + `, tasks.payload, {now} FROM tasks WHERE tasks.id = $1 {lock}`
)

// TaskStore adds, changes and lists tasks.
type TaskStore struct{ *database }

var _ webhook.TaskCounter = (*TaskStore)(nil)

// Task returns a task. The error is taskqueue.ErrNotFound if there is none or the id is
// invalid.
func (s *TaskStore) Task(ctx context.Context, id string) (taskqueue.Task, error) {
	var task taskqueue.Task
	if isInvalidID(id) {
		return task, taskqueue.ErrNotFound
	}
	found, err := s.get(ctx, taskPointers(&task), selectTask, id)
	if err == nil && !found {
		err = taskqueue.ErrNotFound
	}
	return task, err
}

// Tasks returns up to limit (at least 1) tasks that match a filter, without payloads.
// The newest come first, or the oldest if f.OldestFirst. next is the cursor of the next
// page, "" after the last. Tasks that are added between two calls neither repeat nor hide
// one. The error is taskqueue.ErrBadCursor for a cursor that Tasks has not returned.
func (s *TaskStore) Tasks(ctx context.Context, f taskqueue.Filter, cursor string, limit int) (page []taskqueue.Task, next string, err error) {
	if cursor != "" && isInvalidID(cursor) {
		return nil, "", taskqueue.ErrBadCursor
	}
	if cursor == "" && !f.OldestFirst {
		cursor = newestID
	}
	condition, args := taskCondition(f, []any{cursor, limit + 1})
	page, err = list(ctx, s.database, taskPointers, strings.Replace(selectTasks, "{chosen}", condition, 1), args...)
	page, next = cutPage(page, limit, func(last *taskqueue.Task) string { return last.ID })
	return page, next, err
}

// newestID sorts after every task id in every collation of a database. Task ids are
// ULIDs: they start with 0 to 7 and sort in order of creation.
const newestID = "8"

// taskCondition returns the SQL condition and ORDER BY of a filter, and args with its
// arguments appended. args must start with the cursor and the limit.
func taskCondition(f taskqueue.Filter, args []any) (string, []any) {
	operator, stateOperator, direction := "<", ">=", "DESC"
	if f.OldestFirst {
		operator, stateOperator, direction = ">", "<=", "ASC"
	}
	condition, order := "tasks.id "+operator+" $1", "tasks.id "+direction
	if f.State != "" {
		args = append(args, string(f.State))
		if endedConditionFor(f.State) == endedSQL {
			condition += " AND tasks.state = $3"
		} else { // the index of states needs a range of states
			condition = fmt.Sprintf("(tasks.state, tasks.id) %s ($3, $1) AND tasks.state %s $3 AND %s", operator, stateOperator, notEndedSQL)
			order = fmt.Sprintf("tasks.state %s, tasks.id %[1]s", direction)
		}
	}
	equal, args := andEqual(args, columnValue{"tasks.game", f.Game}, columnValue{"tasks.topic", f.Topic}, columnValue{"tasks.key", f.Key})
	return condition + equal + " ORDER BY " + order, args
}

// The index of states contains only tasks that have not ended. A query of their states
// orders by state and id, because only that index has this order. So the database must
// use it.
const (
	endedSQL    = "tasks.ended_at IS NOT NULL"
	notEndedSQL = "tasks.ended_at IS NULL"
)

// endedConditionFor returns the condition that a query of tasks with a state needs, so that
// the database can use the index that contains them.
func endedConditionFor(state taskqueue.State) string {
	if state == taskqueue.StateDone || state == taskqueue.StateDiscarded {
		return endedSQL
	}
	return notEndedSQL
}

// ChangeTask calls change for a task that it has locked, saves the task, and returns it.
// It also updates the task's queue as the new state requires. After an error, also one of
// change, nothing has changed. The error is taskqueue.ErrNotFound if there is no such
// task.
func (s *TaskStore) ChangeTask(ctx context.Context, id string, change func(*taskqueue.Task) error) (task taskqueue.Task, err error) {
	err = s.inTx(ctx, func(tx *transaction) error {
		changes, err := changeLocked(ctx, tx, func(scan scanFunc) { tx.each(ctx, scan, lockTask, id) },
			func(t *taskqueue.Task, _ int64) error { return change(t) })
		if err != nil || len(changes) == 0 {
			return cmp.Or(err, taskqueue.ErrNotFound)
		}
		task = changes[0].after
		return nil
	})
	return task, err
}

// taskPointers returns the pointers for taskColumns and the payload.
func taskPointers(t *taskqueue.Task) []any {
	return into(
		&t.ID, &t.Game, &t.Topic, &t.Key, &t.Priority, &t.Ordering, &t.State, &t.Pos, &t.Fence, &t.DueAt,
		&t.Tries, &t.MaxTries, asJSON(&t.Errors), &t.CreatedAt, &t.ChangedAt, (*[]byte)(&t.Payload),
	)
}

const (
	queueColumns = `q.topic, q.priority, q.ordering, q.pos, q.scan, q.head, q.virtual_time`

	// selectQueues computes Queue.Done. Up to scan, a position without a task is free for
	// ever: its task has ended or left the queue.
	selectQueues = `
SELECT ` + queueColumns + `, COALESCE((
    SELECT tasks.pos - 1 FROM tasks WHERE tasks.topic = q.topic AND tasks.priority = q.priority AND tasks.pos <= q.scan
    ORDER BY tasks.pos LIMIT 1), q.scan)
FROM queues q WHERE (q.topic, q.priority) > ($1, $2){chosen} ORDER BY q.topic, q.priority LIMIT $3`
	busyQueue = "(q.ready = 1 OR EXISTS (" + selectOneInQueue + "))"

	selectOneInQueue = `SELECT 1 FROM tasks WHERE tasks.topic = q.topic AND tasks.priority = q.priority AND tasks.pos IS NOT NULL`
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
	condition, args := andEqual([]any{after.Topic, after.Priority, limit + 1}, columnValue{"q.kind", f.Kind}, columnValue{"q.topic", f.Topic})
	if f.Busy {
		condition += " AND " + busyQueue
	}
	page, err = list(ctx, s.database, queuePointers, strings.Replace(selectQueues, "{chosen}", condition, 1), args...)
	page, next = cutPage(page, limit, func(last *taskqueue.Queue) string { return newCursor(last.Priority, last.Topic) })
	return page, next, err
}

// queuePointers returns the pointers for queueColumns and Queue.Done, which is 0 in claims.
func queuePointers(q *taskqueue.Queue) []any {
	return into(&q.Topic, &q.Priority, &q.Ordering, &q.Pos, &q.Scan, &q.Head, &q.VirtualTime, &q.Done)
}

const selectCounts = `
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM tasks WHERE tasks.topic = $1 AND tasks.pos IS NOT NULL LIMIT $2) AS h)
    + (SELECT COUNT(*) FROM (SELECT 1 AS one FROM tasks WHERE tasks.topic = $1 AND tasks.state = 'later' LIMIT $2) AS h),
    (SELECT COUNT(*) FROM (SELECT 1 AS one FROM tasks WHERE tasks.topic = $1 AND tasks.state = 'dead' LIMIT $2) AS h)`

// CountTasks implements webhook.TaskCounter.
func (s *TaskStore) CountTasks(ctx context.Context, topic string, maxCount int) (waiting, dead int64, err error) {
	_, err = s.get(ctx, into(&waiting, &dead), selectCounts, topic, maxCount)
	return min(waiting, int64(maxCount)), dead, err
}
