package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"laststand/internal/eventq"
)

const (
	lineColumns = `l.topic, l.priority, l.ordering, l.pos, l.scan, l.done, l.head, l.again, l.vtime`

	selectReady = `
SELECT ` + lineColumns + ` FROM lines l WHERE l.kind = $1 AND l.ready = 1 ORDER BY l.vtime LIMIT $2 {free}`
	awaitReady = `
SELECT ` + lineColumns + ` FROM lines l WHERE l.kind = $1 AND l.ready = 1 ORDER BY l.vtime LIMIT $2 {lock}`
	anyReady = `SELECT EXISTS (SELECT 1 FROM lines WHERE kind = $1 AND ready = 1)`

	claimTasks = `
WITH v (topic, priority, pos, lease) AS ({rows})
UPDATE tasks SET state = 'claimed', fence = tasks.fence + 1, due_at = {now} + v.lease, changed_at = {now}
FROM v WHERE tasks.topic = v.topic AND tasks.priority = v.priority AND tasks.pos = v.pos AND tasks.state = 'waiting'
RETURNING ` + taskColumns + `, tasks.payload`

	moveScan = `
WITH v (topic, priority, was, scan, head, vtime) AS ({rows})
UPDATE lines SET scan = v.scan, head = v.head, again = 0, vtime = v.vtime
FROM v WHERE lines.topic = v.topic AND lines.priority = v.priority AND lines.scan = v.was`
)

// Claim gives up to n tasks of a kind to a worker, for as long as the lease: of
// the lines that have had the least, by priority, each in the order of its
// positions. None: there is nothing to hand out.
func (l *Ledger) Claim(ctx context.Context, kind string, n int, lease time.Duration) (tasks []eventq.Task, err error) {
	for more := true; more && len(tasks) == 0; {
		err = l.inTx(ctx, func(tx *sql.Tx) error {
			tasks, more, err = l.claim(ctx, tx, kind, n, lease)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ledger: claim tasks of %s: %w", kind, err)
		}
	}
	return tasks, nil
}

// claim is one try, which may find that the tasks have left their positions, or
// that others have been quicker: there are more then.
func (l *Ledger) claim(ctx context.Context, tx *sql.Tx, kind string, n int, lease time.Duration) (tasks []eventq.Task, more bool, err error) {
	lines, more, err := l.readyLines(ctx, tx, kind, n)
	if err != nil || len(lines) == 0 {
		return nil, more, err
	}
	shares := eventq.Shares(lines, n)
	var rows [][]any
	for _, s := range shares {
		for pos := s.First; pos <= s.Last; pos++ {
			rows = append(rows, []any{s.Line.Topic, s.Line.Priority, pos, lease.Milliseconds()})
		}
	}
	err = l.bulk(tx).run(ctx, l.sql(claimTasks), rows, func(rows *sql.Rows) error {
		t, err := scanTask(rows)
		tasks = append(tasks, t)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return inOrder(tasks), true, l.moveScan(ctx, tx, shares, tasks)
}

// readyLines locks up to n lines that have something to hand out. Where others
// hold all of them, it waits for the first: a topic that is the only one is
// nearly always held. If that one has nothing left then, there may be more.
func (l *Ledger) readyLines(ctx context.Context, tx *sql.Tx, kind string, n int) (lines []eventq.Line, more bool, err error) {
	lines, err = linesOf(tx.QueryContext(ctx, l.sql(selectReady), kind, n))
	if err != nil || len(lines) > 0 || l.free == "" {
		return lines, false, err
	}
	lines, err = linesOf(tx.QueryContext(ctx, l.sql(awaitReady), kind, 1))
	if err == nil && len(lines) == 0 {
		err = tx.QueryRowContext(ctx, anyReady, kind).Scan(&more)
	}
	return lines, more, err
}

func linesOf(rows *sql.Rows, err error) (lines []eventq.Line, _ error) {
	err = scanAll(func(rows *sql.Rows) error {
		var line eventq.Line
		var again int64
		err := rows.Scan(&line.Topic, &line.Priority, &line.Ordering, &line.Pos, &line.Scan, &line.Done, &line.Head, &again, &line.VTime)
		line.Again = again == 1
		lines = append(lines, line)
		return err
	})(rows, err)
	return lines, err
}

func inOrder(tasks []eventq.Task) []eventq.Task {
	slices.SortFunc(tasks, func(a, b eventq.Task) int {
		return cmp.Or(compareLines(a.Line(), b.Line()), cmp.Compare(a.Pos, b.Pos))
	})
	return tasks
}

// moveScan moves the lines on after what was claimed of them.
func (l *Ledger) moveScan(ctx context.Context, tx *sql.Tx, shares []eventq.Share, tasks []eventq.Task) error {
	claimed, last := map[eventq.LineID]int64{}, map[eventq.LineID]string{}
	for i := range tasks {
		key := tasks[i].Line()
		claimed[key]++
		last[key] = tasks[i].ID
	}
	var rows [][]any
	for _, s := range shares {
		if s.Last < s.First {
			continue
		}
		line, was := s.Line, s.Line.Scan
		key := line.LineID
		s.Took(claimed[key], last[key])
		rows = append(rows, []any{line.Topic, line.Priority, was, line.Scan, line.Head, line.VTime})
	}
	return l.bulk(tx).run(ctx, moveScan, rows, nil)
}
