package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"laststand/internal/identity"
)

const (
	insertAudit    = `INSERT INTO audit_log (id, at, actor, action, game, target) VALUES ($1, {now}, $2, $3, $4, $5)`
	endAudit       = `UPDATE audit_log SET status = $2, ended_at = {now} WHERE id = $1`
	deleteOldAudit = `DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log WHERE at < {now} - $1 ORDER BY at, id LIMIT $2)`

	selectAudit = `
SELECT id, at, actor, action, game, target, status, ended_at FROM audit_log
WHERE (at, id) < ($1, $2) AND {chosen} ORDER BY at DESC, id DESC LIMIT $3`
)

// BeginAudit adds the entry of a request that the server is about to carry out. It sets
// the start time; the status and the end time stay 0 until EndAudit.
func (a *AuditLog) BeginAudit(ctx context.Context, entry identity.AuditEntry) error {
	if _, err := a.exec(ctx, insertAudit, entry.ID, entry.Actor, entry.Action, entry.Game, entry.Target); err != nil {
		return fmt.Errorf("ledger: begin audit entry: %w", err)
	}
	return nil
}

// EndAudit stores the HTTP status of the response, and the time. id is the entry's.
func (a *AuditLog) EndAudit(ctx context.Context, id string, status int) error {
	if _, err := a.exec(ctx, endAudit, id, status); err != nil {
		return fmt.Errorf("ledger: end audit entry %s: %w", id, err)
	}
	return nil
}

// AuditEntries returns up to limit (at least 1) entries, newest first, and the cursor of
// the next page, "" after the last. The error is identity.ErrBadAuditCursor for a cursor that
// AuditEntries has not returned.
func (a *AuditLog) AuditEntries(ctx context.Context, f identity.AuditFilter, cursor string, limit int) (page []identity.AuditEntry, next string, err error) {
	at, id, ok := parseCursor(cursor)
	if !ok {
		return nil, "", identity.ErrBadAuditCursor
	}
	condition, args := auditCondition(f, []any{at, id, limit + 1})
	page, err = collect(func(entry *identity.AuditEntry) []any {
		return []any{&entry.ID, &entry.StartedAt, &entry.Actor, &entry.Action, &entry.Game, &entry.Target, &entry.Status, &entry.EndedAt}
	})(a.readPool.QueryContext(ctx, strings.Replace(selectAudit, "{chosen}", condition, 1), args...))
	if err != nil {
		return nil, "", fmt.Errorf("ledger: list audit entries: %w", err)
	}
	page, next = cutPage(page, limit, func(last *identity.AuditEntry) string { return newCursor(last.StartedAt, last.ID) })
	return page, next, nil
}

// auditCondition returns the SQL condition of a filter, and args with its arguments appended.
func auditCondition(f identity.AuditFilter, args []any) (string, []any) {
	conditions := []string{"true"}
	for column, value := range map[string]string{"game": f.Game, "actor": f.Actor} {
		if value != "" {
			args = append(args, value)
			conditions = append(conditions, fmt.Sprintf("%s = $%d", column, len(args)))
		}
	}
	return strings.Join(conditions, " AND "), args
}

// ForgetAuditEntries deletes up to limit entries that are older than minAge, oldest
// first, and returns how many it deleted.
func (a *AuditLog) ForgetAuditEntries(ctx context.Context, minAge time.Duration, limit int) (int64, error) {
	n, err := a.exec(ctx, deleteOldAudit, minAge.Milliseconds(), limit)
	if err != nil {
		return 0, fmt.Errorf("ledger: delete old audit entries: %w", err)
	}
	return n, nil
}
