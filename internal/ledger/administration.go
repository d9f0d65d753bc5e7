package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"laststand/internal/identity"
	"laststand/internal/webhook"
)

// TokenKeys stores the keys of tokens.
type TokenKeys struct{ *database }

// maxKeys limits the keys of a game.
const maxKeys = 16

// Keys returns the stored token keys of a game, oldest first. Game "" has the server's
// own keys.
func (t *TokenKeys) Keys(ctx context.Context, game string) ([]identity.Key, error) {
	return list(ctx, t.database, func(k *identity.Key) []any { return into(&k.ID, &k.Alg, &k.Secret, &k.CreatedAt) },
		`SELECT id, alg, secret, created_at FROM token_keys WHERE game = $1 ORDER BY number`, game)
}

// AddKeyIfNone stores the key if the game has none. If several processes call it at the
// same time, only one key is stored.
func (t *TokenKeys) AddKeyIfNone(ctx context.Context, game string, k identity.Key) error {
	_, err := t.exec(ctx,
		`INSERT INTO token_keys (game, number, id, alg, secret, created_at) VALUES ($1, 1, $2, $3, $4, {now}) ON CONFLICT DO NOTHING`, game, k.ID, k.Alg, k.Secret)
	return err
}

// AddKey stores one more key. The error is identity.ErrTooManyKeys if the game has 16
// already.
func (t *TokenKeys) AddKey(ctx context.Context, game string, k identity.Key) error {
	return inAccessChange(ctx, t.database, func(c *accessChange) error {
		var count, lastNumber int64
		c.get(ctx, into(&count, &lastNumber), `SELECT COUNT(*), COALESCE(MAX(number), 0) FROM token_keys WHERE game = $1`, game)
		if count >= maxKeys {
			return fmt.Errorf("%w: the game has %d; retire one first", identity.ErrTooManyKeys, count)
		}
		c.exec(ctx, `INSERT INTO token_keys (game, number, id, alg, secret, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			game, lastNumber+1, k.ID, k.Alg, k.Secret, c.now)
		c.exec(ctx, updateKeysRevision)
		return nil
	})
}

// RetireKey deletes a key. The error is identity.ErrNoKey if the game has no such key. It
// is identity.ErrKeyInUse if no other key is at least minAgeMS old, because nodes may not
// have read the others yet.
func (t *TokenKeys) RetireKey(ctx context.Context, game, id string, minAgeMS int64) error {
	return inAccessChange(ctx, t.database, func(c *accessChange) error {
		if c.exec(ctx, `DELETE FROM token_keys WHERE game = $1 AND id = $2`, game, id) == 0 {
			return identity.ErrNoKey
		}
		c.exec(ctx, updateKeysRevision)
		hasOtherKey := false
		c.get(ctx, into(&hasOtherKey), `SELECT EXISTS (SELECT 1 FROM token_keys WHERE game = $1 AND created_at <= $2)`, game, c.now-minAgeMS)
		if !hasOtherKey {
			return fmt.Errorf("%w: no other key is at least %d s old; rotate first, and wait", identity.ErrKeyInUse, minAgeMS/1000)
		}
		return nil
	})
}

var _ webhook.EndpointStates = (*Endpoints)(nil)

// Endpoints stores the states of webhook endpoints.
type Endpoints struct{ *database }

// EndpointStates returns the disabled webhook endpoints, ordered by game and name.
func (e *Endpoints) EndpointStates(ctx context.Context) ([]webhook.State, error) {
	return list(ctx, e.database, func(s *webhook.State) []any { return into(&s.Game, &s.Name, &s.Disabled, &s.Since) },
		`SELECT game, name, reason, since FROM disabled_endpoints ORDER BY game, name`)
}

// DisableEndpoint disables an endpoint. If it is disabled already, the first reason
// stays.
func (e *Endpoints) DisableEndpoint(ctx context.Context, game, name, reason string) error {
	_, err := e.exec(ctx, `INSERT INTO disabled_endpoints (game, name, reason, since) VALUES ($1, $2, $3, {now}) ON CONFLICT DO NOTHING`,
		game, name, reason)
	return err
}

// EnableEndpoint enables an endpoint. It does nothing if the endpoint is not disabled.
func (e *Endpoints) EnableEndpoint(ctx context.Context, game, name string) error {
	_, err := e.exec(ctx, `DELETE FROM disabled_endpoints WHERE game = $1 AND name = $2`, game, name)
	return err
}

// AuditLog stores what operators do.
type AuditLog struct{ *database }

const (
	deleteOldAudit = `DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log WHERE at < (SELECT {now}) - $1 ORDER BY at, id LIMIT $2)`

	selectAudit = `
SELECT id, at, actor, action, game, target, status, ended_at FROM audit_log
WHERE (at, id) < ($1, $2){chosen} ORDER BY at DESC, id DESC LIMIT $3`
)

// BeginAudit adds the entry of a request that the server is about to carry out. It sets
// the start time; the status and the end time stay 0 until EndAudit.
func (a *AuditLog) BeginAudit(ctx context.Context, entry identity.AuditEntry) error {
	_, err := a.exec(ctx, `INSERT INTO audit_log (id, at, actor, action, game, target) VALUES ($1, {now}, $2, $3, $4, $5)`,
		entry.ID, entry.Actor, entry.Action, entry.Game, entry.Target)
	return err
}

// EndAudit stores the HTTP status of the response, and the time. id is the entry's.
func (a *AuditLog) EndAudit(ctx context.Context, id string, status int) error {
	_, err := a.exec(ctx, `UPDATE audit_log SET status = $2, ended_at = {now} WHERE id = $1`, id, status)
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
	condition, args := andEqual([]any{at, id, limit + 1}, columnValue{"game", f.Game}, columnValue{"actor", f.Actor})
	page, err = list(ctx, a.database, func(e *identity.AuditEntry) []any {
		return into(&e.ID, &e.StartedAt, &e.Actor, &e.Action, &e.Game, &e.Target, &e.Status, &e.EndedAt)
	}, strings.Replace(selectAudit, "{chosen}", condition, 1), args...)
	page, next = cutPage(page, limit, func(last *identity.AuditEntry) string { return newCursor(last.StartedAt, last.ID) })
	return page, next, err
}

// ForgetAuditEntries deletes all entries that are older than minAge, oldest first, and returns
// how many. A transaction deletes up to batch of them.
func (a *AuditLog) ForgetAuditEntries(ctx context.Context, minAge time.Duration, batch int) (int64, error) {
	return repeatWithPauses(ctx, 9, func() (int64, error) { return a.exec(ctx, deleteOldAudit, minAge.Milliseconds(), batch) })
}
