package ledger

import (
	"context"
	"strings"
	"time"

	"laststand/internal/identity"
)

const (
	insertAudit    = `INSERT INTO audit_log (id, at, actor, action, game, target) VALUES ($1, {now}, $2, $3, $4, $5)`
	endAudit       = `UPDATE audit_log SET status = $2, ended_at = {now} WHERE id = $1`
	deleteOldAudit = `DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log WHERE at < (SELECT {now}) - $1 ORDER BY at, id LIMIT $2)`

	selectAudit = `
SELECT id, at, actor, action, game, target, status, ended_at FROM audit_log
WHERE (at, id) < ($1, $2){chosen} ORDER BY at DESC, id DESC LIMIT $3`
)

// BeginAudit adds the entry of a request that the server is about to carry out. It sets
// the start time; the status and the end time stay 0 until EndAudit.
func (a *AuditLog) BeginAudit(ctx context.Context, entry identity.AuditEntry) (err error) {
	defer describe(&err, "begin audit entry")
	_, err = a.exec(ctx, insertAudit, entry.ID, entry.Actor, entry.Action, entry.Game, entry.Target)
	return err
}

// EndAudit stores the HTTP status of the response, and the time. id is the entry's.
func (a *AuditLog) EndAudit(ctx context.Context, id string, status int) (err error) {
	defer describe(&err, "end audit entry %s", id)
	_, err = a.exec(ctx, endAudit, id, status)
	return err
}

// AuditEntries returns up to limit (at least 1) entries, newest first, and the cursor of
// the next page, "" after the last. The error is identity.ErrBadAuditCursor for a cursor that
// AuditEntries has not returned.
func (a *AuditLog) AuditEntries(ctx context.Context, f identity.AuditFilter, cursor string, limit int) (page []identity.AuditEntry, next string, err error) {
	at, id, ok := parseTimeCursor(cursor)
	if !ok {
		return nil, "", identity.ErrBadAuditCursor
	}
	defer describe(&err, "list audit entries")
	condition, args := andEqual([]any{at, id, limit + 1}, columnValue{"game", f.Game}, columnValue{"actor", f.Actor})
	page, err = collect(func(entry *identity.AuditEntry) []any {
		return []any{&entry.ID, &entry.StartedAt, &entry.Actor, &entry.Action, &entry.Game, &entry.Target, &entry.Status, &entry.EndedAt}
	})(a.query(ctx, strings.Replace(selectAudit, "{chosen}", condition, 1), args...))
	page, next = cutPage(page, limit, func(last *identity.AuditEntry) string { return newCursor(last.StartedAt, last.ID) })
	return page, next, err
}

// ForgetAuditEntries deletes up to limit entries that are older than minAge, oldest
// first, and returns how many it deleted.
func (a *AuditLog) ForgetAuditEntries(ctx context.Context, minAge time.Duration, limit int) (_ int64, err error) {
	defer describe(&err, "delete old audit entries")
	n, err := a.exec(ctx, deleteOldAudit, minAge.Milliseconds(), limit)
	return n, err
}
