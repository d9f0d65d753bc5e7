package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"laststand/internal/taskqueue"
)

const (
	taskColumns = `
    tasks.id, tasks.game, tasks.topic, tasks.key, tasks.priority, tasks.ordering, tasks.state, COALESCE(tasks.pos, 0), tasks.fence, COALESCE(tasks.due_at, 0),
    tasks.tries, tasks.max_tries, tasks.errors, tasks.created_at, tasks.changed_at`

	selectTask       = `SELECT ` + taskColumns + `, tasks.payload FROM tasks WHERE tasks.id = $1`
	selectTasksByIDs = `SELECT ` + taskColumns + `, '' FROM {ids} tasks WHERE tasks.game = $1 AND tasks.id {listed}`
	selectTasks      = `SELECT ` + taskColumns + `, '' FROM tasks WHERE {chosen} LIMIT $2`
	lockTask         = `SELECT ` + taskColumns + `, tasks.payload, {now} FROM tasks WHERE tasks.id = $1 {lock}`
)

// Task returns a task. The error is taskqueue.ErrNotFound if there is none or the id is
// invalid.
func (s *TaskStore) Task(ctx context.Context, id string) (_ taskqueue.Task, err error) {
	defer describe(&err, "task")
	if isInvalidID(id) {
		return taskqueue.Task{}, taskqueue.ErrNotFound
	}
	return scanTask(s.queryRow(ctx, selectTask, id))
}

// GameTasks returns the tasks with these ids that belong to the game, without payloads. It
// accepts 1 to MaxNames ids.
func (s *TaskStore) GameTasks(ctx context.Context, game string, ids []string) (_ []taskqueue.Task, err error) {
	defer describe(&err, "tasks of %d ids", len(ids))
	if len(ids) == 0 || len(ids) > MaxNames {
		return nil, fmt.Errorf("use 1 to %d ids", MaxNames)
	}
	ids = slices.DeleteFunc(slices.Clone(ids), isInvalidID)
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	return scanTasks(s.query(ctx, selectTasksByIDs, game, s.idList(slices.Compact(ids))))
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
	defer describe(&err, "tasks")
	condition, args := taskCondition(f, []any{cursor, limit + 1})
	page, err = scanTasks(s.query(ctx, strings.Replace(selectTasks, "{chosen}", condition, 1), args...))
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
func (s *TaskStore) ChangeTask(ctx context.Context, id string, change func(*taskqueue.Task) error) (_ taskqueue.Task, err error) {
	defer describe(&err, "change task")
	var c taskChange
	err = s.inQueueTx(ctx, func(tx *transaction) (topicsToNotify []string, err error) {
		var now int64
		if c.before, err = scanTask(tx.queryRow(ctx, lockTask, id), &now); err != nil {
			return nil, err
		}
		c.after = c.before
		if err := change(&c.after); err != nil {
			return nil, err
		}
		return s.saveChanges(ctx, tx, now, []*taskChange{&c})
	})
	return c.after, err
}

// scanTask scans a row with taskColumns, the payload and more columns. It returns
// taskqueue.ErrNotFound if there is no row.
func scanTask(row interface{ Scan(into ...any) error }, more ...any) (taskqueue.Task, error) {
	var t taskqueue.Task
	var failures, payload string
	err := row.Scan(append([]any{
		&t.ID, &t.Game, &t.Topic, &t.Key, &t.Priority, &t.Ordering, &t.State, &t.Pos, &t.Fence, &t.DueAt,
		&t.Tries, &t.MaxTries, &failures, &t.CreatedAt, &t.ChangedAt, &payload,
	}, more...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return t, taskqueue.ErrNotFound
	}
	if payload != "" {
		t.Payload = json.RawMessage(payload)
	}
	if err == nil {
		err = json.Unmarshal([]byte(failures), &t.Errors)
	}
	return t, err
}

func scanTasks(rows *sql.Rows, err error) (tasks []taskqueue.Task, _ error) {
	err = scanAll(func(rows *sql.Rows) error {
		t, err := scanTask(rows)
		tasks = append(tasks, t)
		return err
	})(rows, err)
	return tasks, err
}
