package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"laststand/internal/eventq"
)

const insertTask = `
INSERT INTO tasks (id, game, topic, key, payload, state, tries, errors, created_at, changed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, {now}, {now}) ON CONFLICT (topic, game, key) DO NOTHING`

// AddTask adds a task, on disk once it returns, and gives it an id and its
// instants. It reports false, and changes nothing, where the game and topic
// have the key already.
func (l *Ledger) AddTask(ctx context.Context, t eventq.Task) (bool, error) {
	failures, err := json.Marshal(t.Errors)
	if err != nil {
		return false, fmt.Errorf("ledger: add task %s: %w", t.Key, err)
	}
	added, err := l.exec(ctx, insertTask, rand.Text(), t.Game, t.Topic, t.Key, string(t.Payload), string(t.State), t.Tries, string(failures))
	if err != nil {
		return false, fmt.Errorf("ledger: add task %s: %w", t.Key, err)
	}
	return added > 0, nil
}

const (
	taskColumns = `id, game, topic, key, state, tries, errors, created_at, changed_at`
	selectTask  = `SELECT ` + taskColumns + `, payload FROM tasks WHERE id = $1`
	selectTasks = `
SELECT ` + taskColumns + `, '' FROM tasks
WHERE (created_at, id) < ($1, $2) AND {chosen} ORDER BY created_at DESC, id DESC LIMIT $3`
	lockTask   = `UPDATE tasks SET changed_at = {now} WHERE id = $1 RETURNING ` + taskColumns + `, payload`
	updateTask = `UPDATE tasks SET payload = $2, state = $3, tries = $4, errors = $5 WHERE id = $1`
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
	at, id, ok := parseCursor(cursor)
	if !ok {
		return nil, "", eventq.ErrBadCursor
	}
	chosen, args := chosenTasks(f, []any{at, id, limit + 1})
	err = scanAll(func(rows *sql.Rows) error {
		t, err := scanTask(rows)
		page = append(page, t)
		return err
	})(l.read.QueryContext(ctx, strings.Replace(selectTasks, "{chosen}", chosen, 1), args...))
	if err != nil {
		return nil, "", fmt.Errorf("ledger: tasks: %w", err)
	}
	if len(page) <= limit {
		return page, "", nil
	}
	page = page[:limit]
	last := page[limit-1]
	return page, cursorAt(last.CreatedAt, last.ID), nil
}

// chosenTasks is a filter as a condition, with its arguments after the others.
func chosenTasks(f eventq.Filter, args []any) (string, []any) {
	chosen := "true"
	for _, c := range []struct{ column, value string }{
		{"game", f.Game}, {"topic", f.Topic}, {"key", f.Key}, {"state", string(f.State)},
	} {
		if c.value != "" {
			args = append(args, c.value)
			chosen += fmt.Sprintf(" AND %s = $%d", c.column, len(args))
		}
	}
	return chosen, args
}

// ChangeTask lets change at a task, one caller at a time, and gives it as it
// is then. After an error, of change too, nothing has changed.
// eventq.ErrNotFound.
func (l *Ledger) ChangeTask(ctx context.Context, id string, change func(*eventq.Task) error) (t eventq.Task, err error) {
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		if t, err = scanTask(tx.QueryRowContext(ctx, l.sql(lockTask), id)); err != nil {
			return err
		}
		if err := change(&t); err != nil {
			return err
		}
		failures, err := json.Marshal(t.Errors)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, updateTask, id, string(t.Payload), string(t.State), t.Tries, string(failures))
		return err
	})
	if err != nil {
		return eventq.Task{}, fmt.Errorf("ledger: change task: %w", err)
	}
	return t, nil
}

// scanTask reads the columns of selectTask.
func scanTask(row interface{ Scan(into ...any) error }) (eventq.Task, error) {
	var t eventq.Task
	var failures, payload string
	err := row.Scan(&t.ID, &t.Game, &t.Topic, &t.Key, &t.State, &t.Tries, &failures, &t.CreatedAt, &t.ChangedAt, &payload)
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
