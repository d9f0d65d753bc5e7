package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"laststand/internal/eventq"
)

const (
	taskColumns = `
    tasks.id, tasks.game, tasks.topic, tasks.key, tasks.priority, tasks.ordering, tasks.state, COALESCE(tasks.pos, 0), tasks.fence, COALESCE(tasks.due_at, 0),
    tasks.tries, tasks.max_tries, tasks.errors, tasks.created_at, tasks.changed_at`

	selectTask  = `SELECT ` + taskColumns + `, tasks.payload FROM tasks WHERE tasks.id = $1`
	selectTasks = `SELECT ` + taskColumns + `, '' FROM tasks WHERE tasks.id < $1 AND {chosen} ORDER BY tasks.id DESC LIMIT $2`
	lockTask    = `SELECT ` + taskColumns + `, tasks.payload, {now} FROM tasks WHERE tasks.id = $1 {lock}`
)

// Task gives a task, or eventq.ErrNotFound.
func (l *Ledger) Task(ctx context.Context, id string) (eventq.Task, error) {
	t, err := scanTask(l.read.QueryRowContext(ctx, selectTask, id))
	if err != nil {
		return eventq.Task{}, fmt.Errorf("ledger: task: %w", err)
	}
	return t, nil
}

// Tasks gives up to limit (at least 1) of the tasks that a filter chooses,
// newest first, without payloads, and the cursor of the next page, "" after the
// last. Tasks added meanwhile neither repeat nor hide one.
// eventq.ErrBadCursor for a cursor that Tasks has not given.
func (l *Ledger) Tasks(ctx context.Context, f eventq.Filter, cursor string, limit int) (page []eventq.Task, next string, err error) {
	if cursor == "" {
		cursor = newestID
	} else if badID(cursor) {
		return nil, "", eventq.ErrBadCursor
	}
	chosen, args := chosenTasks(f, []any{cursor, limit + 1})
	page, err = tasksOf(l.read.QueryContext(ctx, strings.Replace(selectTasks, "{chosen}", chosen, 1), args...))
	if err != nil {
		return nil, "", fmt.Errorf("ledger: tasks: %w", err)
	}
	if len(page) <= limit {
		return page, "", nil
	}
	page = page[:limit]
	return page, page[limit-1].ID, nil
}

// newestID comes after every id: ids are ULIDs, in the order of their making.
const newestID = "~"

// chosenTasks is a filter as a condition, with its arguments after the others.
func chosenTasks(f eventq.Filter, args []any) (string, []any) {
	chosen := "true"
	for _, c := range []struct{ column, value string }{
		{"game", f.Game}, {"topic", f.Topic}, {"key", f.Key}, {"state", string(f.State)},
	} {
		if c.value != "" {
			args = append(args, c.value)
			chosen += fmt.Sprintf(" AND tasks.%s = $%d", c.column, len(args))
		}
	}
	return chosen, args
}

// ChangeTask lets change at a task, one caller at a time, and gives it as it
// is then, in its line or out of it as its new state asks for. After an error,
// of change too, nothing has changed. eventq.ErrNotFound.
func (l *Ledger) ChangeTask(ctx context.Context, id string, change func(*eventq.Task) error) (eventq.Task, error) {
	var c changed
	woken, err := l.queueTx(ctx, func(tx *sql.Tx) (woken []string, err error) {
		var now int64
		if c.was, err = scanTask(tx.QueryRowContext(ctx, l.sql(lockTask), id), &now); err != nil {
			return nil, err
		}
		c.now = c.was
		if err := change(&c.now); err != nil {
			return nil, err
		}
		return l.saveChanges(ctx, tx, now, []*changed{&c})
	})
	if err != nil {
		return eventq.Task{}, fmt.Errorf("ledger: change task: %w", err)
	}
	l.ring(woken)
	return c.now, nil
}

// scanTask reads taskColumns, the payload and what else there is.
func scanTask(row interface{ Scan(into ...any) error }, more ...any) (eventq.Task, error) {
	var t eventq.Task
	var failures, payload string
	err := row.Scan(append([]any{
		&t.ID, &t.Game, &t.Topic, &t.Key, &t.Priority, &t.Ordering, &t.State, &t.Pos, &t.Fence, &t.DueAt,
		&t.Tries, &t.MaxTries, &failures, &t.CreatedAt, &t.ChangedAt, &payload,
	}, more...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return t, eventq.ErrNotFound
	}
	if payload != "" {
		t.Payload = json.RawMessage(payload)
	}
	if err == nil {
		err = json.Unmarshal([]byte(failures), &t.Errors)
	}
	return t, err
}

// tasksOf reads the rows of scanTask.
func tasksOf(rows *sql.Rows, err error) (tasks []eventq.Task, _ error) {
	err = scanAll(func(rows *sql.Rows) error {
		t, err := scanTask(rows)
		tasks = append(tasks, t)
		return err
	})(rows, err)
	return tasks, err
}
