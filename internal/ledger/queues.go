package ledger

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/taskqueue"
)

const (
	selectLines = `
SELECT ` + queueColumns + ` FROM lines l WHERE (l.topic, l.priority) > ($1, $2) AND {chosen} ORDER BY l.topic, l.priority LIMIT $3`
	busyLine = "(l.ready = 1 OR l.done < l.scan)"

	// selectBacklogs jumps from kind to kind in the index, because most queues may have
	// one kind. Queues with tasks that are not ready wait for their heads.
	selectBacklogs = `
WITH RECURSIVE kinds (kind) AS (
    SELECT CAST('' AS TEXT) UNION ALL
    SELECT (SELECT l.kind FROM lines l WHERE l.kind > kinds.kind ORDER BY l.kind LIMIT 1) FROM kinds WHERE kinds.kind IS NOT NULL),
held (kind, many) AS (
    SELECT h.kind, SUM(h.many) FROM (
        SELECT l.kind, l.ready, l.pos - l.scan AS many FROM lines l WHERE l.done < l.scan AND l.topic > '' LIMIT $2) AS h
    WHERE h.ready = 0 GROUP BY h.kind)
SELECT kinds.kind,
    (SELECT COUNT(*) FROM (SELECT 1 FROM lines l WHERE l.kind = kinds.kind AND l.ready = 1 LIMIT $2) AS h),
    CAST(COALESCE((SELECT SUM(h.many) FROM (SELECT l.pos - l.scan AS many FROM lines l WHERE l.kind = kinds.kind AND l.ready = 1 LIMIT $2) AS h), 0)
        + COALESCE((SELECT held.many FROM held WHERE held.kind = kinds.kind), 0) AS BIGINT)
FROM kinds WHERE kinds.kind <> '' LIMIT $1`
)

// Lines returns up to limit (at least 1) queues that match a filter, by topic and
// priority. next is the cursor of the next page, "" after the last. The error is
// taskqueue.ErrBadCursor for a cursor that Lines has not returned.
func (l *Ledger) Lines(ctx context.Context, f taskqueue.QueueFilter, cursor string, limit int) (page []taskqueue.Queue, next string, err error) {
	after, ok := parseQueueCursor(cursor)
	if !ok {
		return nil, "", taskqueue.ErrBadCursor
	}
	chosen, args := queueCondition(f, []any{after.Topic, after.Priority, limit + 1})
	page, err = scanQueues(l.read.QueryContext(ctx, strings.Replace(selectLines, "{chosen}", chosen, 1), args...))
	if err != nil {
		return nil, "", fmt.Errorf("ledger: lines: %w", err)
	}
	if len(page) <= limit {
		return page, "", nil
	}
	page = page[:limit]
	return page, queueCursor(page[limit-1].QueueID), nil
}

// queueCondition returns a filter as a condition. It appends the arguments.
func queueCondition(f taskqueue.QueueFilter, args []any) (string, []any) {
	chosen := "true"
	if f.Busy {
		chosen = busyLine
	}
	for _, c := range []struct{ column, value string }{{"kind", f.Kind}, {"topic", f.Topic}} {
		if c.value != "" {
			args = append(args, c.value)
			chosen += fmt.Sprintf(" AND l.%s = $%d", c.column, len(args))
		}
	}
	return chosen, args
}

// queueCursor returns the cursor to the queues after a given one.
func queueCursor(last taskqueue.QueueID) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(last.Priority, 10) + ":" + last.Topic))
}

// parseQueueCursor returns the queue before the page; "" is before all. ok is false for
// a cursor that queueCursor has not written.
func parseQueueCursor(cursor string) (after taskqueue.QueueID, ok bool) {
	if cursor == "" {
		return taskqueue.QueueID{}, true
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return after, false
	}
	priority, topic, ok := strings.Cut(string(text), ":")
	after.Topic = topic
	after.Priority, err = strconv.ParseInt(priority, 10, 64)
	return after, ok && err == nil && queueCursor(after) == cursor
}

// Backlogs returns the waiting tasks of up to kinds kinds, by name, each counted in up
// to upTo queues.
func (l *Ledger) Backlogs(ctx context.Context, kinds, upTo int) (all []taskqueue.Backlog, err error) {
	err = scanAll(func(rows *sql.Rows) error {
		var b taskqueue.Backlog
		err := rows.Scan(&b.Kind, &b.Ready, &b.Tasks)
		all = append(all, b)
		return err
	})(l.read.QueryContext(ctx, selectBacklogs, kinds, upTo))
	if err != nil {
		return nil, fmt.Errorf("ledger: backlogs: %w", err)
	}
	return all, nil
}
