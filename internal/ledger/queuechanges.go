package ledger

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"laststand/internal/taskqueue"
)

// changed is a locked task and what it becomes.
type changed struct{ was, now taskqueue.Task }

// saveChanges writes tasks that the transaction has locked, at an instant, and
// moves their lines. It gives the topics to ring for.
func (l *Ledger) saveChanges(ctx context.Context, tx *sql.Tx, now int64, all []*changed) (woken []string, err error) {
	heads, err := l.headsOf(ctx, tx, all)
	if err != nil {
		return nil, fmt.Errorf("heads: %w", err)
	}
	slices.SortFunc(all, func(a, b *changed) int { // as they come back into their lines
		return cmp.Or(cmp.Compare(a.was.DueAt, b.was.DueAt), cmp.Compare(a.was.Pos, b.was.Pos), cmp.Compare(a.was.ID, b.was.ID))
	})
	moves := newMoves()
	for _, c := range all {
		c.now.ChangedAt = now
		c.move(moves, heads[c.was.Queue()] == c.was.ID)
	}
	if err := l.move(ctx, tx, moves); err != nil {
		return nil, fmt.Errorf("lines: %w", err)
	}
	bulk := l.bulk(tx)
	rows, payloads, err := changedRows(all)
	if err != nil {
		return nil, err
	}
	if err := bulk.run(ctx, updateTask, rows, nil); err != nil {
		return nil, err
	}
	return moves.woken, bulk.run(ctx, updatePayload, payloads, nil)
}

// move says what a change of state does to the task's line, whose head it may
// be. A head keeps its place until it is through.
func (c *changed) move(m *moves, head bool) {
	if c.now.State == c.was.State {
		return
	}
	stays := head && (c.now.State == taskqueue.Later || c.now.State == taskqueue.Dead && c.now.Ordering == taskqueue.Pausing)
	switch {
	case stays:
	case head:
		m.free(&c.now, c.now.State == taskqueue.Waiting)
	case c.now.State == taskqueue.Waiting:
		m.comeBack(&c.now)
	}
	if !stays && c.now.State != taskqueue.Waiting {
		c.now.Pos = 0
	}
}

// headsOf are the heads of the lines of tasks, read after the tasks were locked:
// those of them that are heads stay so.
func (l *Ledger) headsOf(ctx context.Context, tx *sql.Tx, all []*changed) (map[taskqueue.QueueID]string, error) {
	heads := map[taskqueue.QueueID]string{}
	for _, c := range all {
		if c.was.Pos > 0 {
			heads[c.was.Queue()] = ""
		}
	}
	var rows [][]any
	for _, key := range slices.SortedFunc(maps.Keys(heads), compareLines) {
		rows = append(rows, []any{key.Topic, key.Priority})
	}
	return heads, l.bulk(tx).run(ctx, selectHeads, rows, func(rows *sql.Rows) error {
		var key taskqueue.QueueID
		var head string
		err := rows.Scan(&key.Topic, &key.Priority, &head)
		heads[key] = head
		return err
	})
}

// changedRows are the rows of updateTask, and of updatePayload where that has
// changed: it may be large.
func changedRows(all []*changed) (rows, payloads [][]any, err error) {
	all = slices.SortedFunc(slices.Values(all), func(a, b *changed) int { return cmp.Compare(a.was.ID, b.was.ID) })
	for _, c := range all {
		failures, err := json.Marshal(c.now.Errors)
		if err != nil {
			return nil, nil, err
		}
		ended := int64(0)
		if c.now.State == taskqueue.Done || c.now.State == taskqueue.Discarded {
			ended = c.now.ChangedAt
		}
		t := &c.now
		rows = append(rows, []any{t.ID, string(t.State), t.Pos, t.DueAt, t.Tries, t.MaxTries, string(failures), t.ChangedAt, ended})
		if !bytes.Equal(c.was.Payload, t.Payload) {
			payloads = append(payloads, []any{t.ID, string(t.Payload)})
		}
	}
	return rows, payloads, nil
}

const (
	selectHeads = `
WITH v (topic, priority) AS ({rows})
SELECT l.topic, l.priority, l.head FROM v JOIN lines l ON l.topic = v.topic AND l.priority = v.priority`

	updateTask = `
WITH v (id, state, pos, due_at, tries, max_tries, errors, at, ended_at) AS ({rows})
UPDATE tasks SET state = v.state, pos = NULLIF(v.pos, 0), due_at = NULLIF(v.due_at, 0), tries = v.tries, max_tries = v.max_tries,
    errors = v.errors, changed_at = v.at, ended_at = NULLIF(v.ended_at, 0)
FROM v WHERE tasks.id = v.id`

	updatePayload = `WITH v (id, payload) AS ({rows}) UPDATE tasks SET payload = v.payload FROM v WHERE tasks.id = v.id`
)
