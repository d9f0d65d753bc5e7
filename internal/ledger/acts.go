package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"laststand/internal/audit"
)

const (
	insertAct = `INSERT INTO acts (id, at, who, what, game, target) VALUES ($1, {now}, $2, $3, $4, $5)`
	endAct    = `UPDATE acts SET status = $2, ended_at = {now} WHERE id = $1`
	forgetAct = `DELETE FROM acts WHERE id IN (SELECT id FROM acts WHERE at < {now} - $1 ORDER BY at, id LIMIT $2)`

	selectActs = `
SELECT id, at, who, what, game, target, status, ended_at FROM acts
WHERE (at, id) < ($1, $2) AND {chosen} ORDER BY at DESC, id DESC LIMIT $3`
)

// BeginAct writes an act that is about to be done; its instants and its status
// are the ledger's to say.
func (l *Ledger) BeginAct(ctx context.Context, a audit.Act) error {
	_, err := l.exec(ctx, insertAct, a.ID, audit.Text(a.By), audit.Text(a.What), audit.Text(a.Game), audit.Text(a.Target))
	if err != nil {
		return fmt.Errorf("ledger: begin act: %w", err)
	}
	return nil
}

// EndAct says what an act was answered with.
func (l *Ledger) EndAct(ctx context.Context, id string, status int) error {
	if _, err := l.exec(ctx, endAct, id, status); err != nil {
		return fmt.Errorf("ledger: end act %s: %w", id, err)
	}
	return nil
}

// Acts gives up to limit (at least 1) acts, newest first, and the cursor of the
// next page, "" after the last. audit.ErrBadCursor for one that it has not given.
func (l *Ledger) Acts(ctx context.Context, f audit.Filter, cursor string, limit int) (page []audit.Act, next string, err error) {
	at, id, ok := parseCursor(cursor)
	if !ok {
		return nil, "", audit.ErrBadCursor
	}
	chosen, args := chosenActs(f, []any{at, id, limit + 1})
	err = scanAll(func(rows *sql.Rows) error {
		var a audit.Act
		err := rows.Scan(&a.ID, &a.At, &a.By, &a.What, &a.Game, &a.Target, &a.Status, &a.EndedAt)
		page = append(page, a)
		return err
	})(l.read.QueryContext(ctx, strings.Replace(selectActs, "{chosen}", chosen, 1), args...))
	if err != nil {
		return nil, "", fmt.Errorf("ledger: acts: %w", err)
	}
	if len(page) <= limit {
		return page, "", nil
	}
	page = page[:limit]
	last := page[limit-1]
	return page, cursorAt(last.At, last.ID), nil
}

// chosenActs is the condition of a filter, with its arguments after others.
func chosenActs(f audit.Filter, args []any) (string, []any) {
	conditions := []string{"true"}
	for column, value := range map[string]string{"game": f.Game, "who": f.By} {
		if value != "" {
			args = append(args, value)
			conditions = append(conditions, fmt.Sprintf("%s = $%d", column, len(args)))
		}
	}
	return strings.Join(conditions, " AND "), args
}

// ForgetActs removes up to limit acts that are older than so long, the oldest
// first, and gives how many it removed.
func (l *Ledger) ForgetActs(ctx context.Context, older time.Duration, limit int) (int64, error) {
	n, err := l.exec(ctx, forgetAct, older.Milliseconds(), limit)
	if err != nil {
		return 0, fmt.Errorf("ledger: forget acts: %w", err)
	}
	return n, nil
}
