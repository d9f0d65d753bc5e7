package ledger

import (
	"cmp"
	"context"
	"math"

	"laststand/internal/identity"
)

var _ identity.RevocationStore = (*Revocations)(nil)

// Revocations stores bans and revocations.
type Revocations struct{ *database }

const (
	selectRevocationWhere  = `SELECT game, kind, id, issued_before, ends_at, reason, set_by, changed_at, revision FROM revocations WHERE `
	selectRevocationsSince = selectRevocationWhere + `revision > $1 ORDER BY revision LIMIT $2`

	selectRevocationsOfGame = selectRevocationWhere + `game = $1 AND revision < $2 AND (kind = $3 OR $3 = '' AND kind <> 'ban') AND (ends_at = 0 OR ends_at > {now}) ORDER BY revision DESC LIMIT $4`
)

// Revision implements identity.RevocationStore.
func (s *Revocations) Revision(ctx context.Context) (r identity.Revision, err error) {
	_, err = s.get(ctx, into(&r.Revocations, &r.Keys), `SELECT revision, keys_revision FROM access_revision WHERE id = 1`)
	return r, err
}

// RevocationsSince implements identity.RevocationStore.
func (s *Revocations) RevocationsSince(ctx context.Context, revision int64, limit int) ([]identity.Revocation, error) {
	return list(ctx, s.database, revocationPointers, selectRevocationsSince, revision, limit)
}

// ListRevocations returns up to limit revocations of a game that are in force, last change first.
// An empty kind selects all kinds except bans. For a further page, before is the Seq of the
// last revocation of the former page; else it is 0.
func (s *Revocations) ListRevocations(ctx context.Context, game string, kind identity.RevocationKind, before int64, limit int) ([]identity.Revocation, error) {
	return list(ctx, s.database, revocationPointers, selectRevocationsOfGame, game, cmp.Or(before, math.MaxInt64), string(kind), limit)
}

func revocationPointers(r *identity.Revocation) []any {
	return into(&r.Game, &r.Kind, &r.ID, &r.IssuedBefore, &r.EndsAt, &r.Reason, &r.SetBy, &r.ChangedAt, &r.Seq)
}

// ErasedID implements identity.RevocationStore.
func (s *Revocations) ErasedID(game, subject string) string {
	return s.hashKey.hashSubject(game, subject)
}

// SetRevocation bans a player, or revokes a token or the tokens of a subject, and returns the
// stored revocation. It replaces a former one of the same kind and id. If the subject is
// a guest or its linked account, it applies to both, and SetRevocation returns that of
// the guest. A revocation of a subject without IssuedBefore applies to all tokens that
// are valid now. A revocation of a subject also detaches the guest's device.
func (s *Revocations) SetRevocation(ctx context.Context, revocation identity.Revocation) (identity.Revocation, error) {
	err := inAccessChange(ctx, s.database, func(c *accessChange) error {
		if revocation.Kind == identity.KindSubject {
			revocation.IssuedBefore = ceilToSecond(revocation.IssuedBefore, c.now)
		}
		c.eachSubject(ctx, revocation, func(id string) {
			revocation.ID, revocation.ChangedAt, revocation.Seq = id, c.now, c.seq
			if revocation.Kind == identity.KindSubject {
				c.exec(ctx, `UPDATE players SET device_hash = NULL WHERE game = $1 AND id = $2`, revocation.Game, id)
			}
			c.save(ctx, revocation)
		})
		return nil
	})
	return revocation, err
}

// ceilToSecond rounds a time up to a whole second, because tokens are issued at whole
// seconds. Both times are epoch ms. For 0 it returns a time later than the issue of every
// token that is valid now.
func ceilToSecond(instant, now int64) int64 {
	instant = cmp.Or(instant, now+identity.Leeway.Milliseconds()+1)
	return (instant + 999) / 1000 * 1000
}

// LiftRevocation ends a revocation that an operator has set. For a guest with a linked account
// it ends both. The error is identity.ErrNotRevoked if none is in force.
func (s *Revocations) LiftRevocation(ctx context.Context, revocation identity.Revocation) error {
	return inAccessChange(ctx, s.database, func(c *accessChange) error {
		endedCount := int64(0)
		c.eachSubject(ctx, revocation, func(id string) {
			endedCount += c.exec(ctx, endRevocation, revocation.Game, string(revocation.Kind), id, c.now, revocation.SetBy, c.seq)
		})
		if endedCount == 0 {
			return identity.ErrNotRevoked
		}
		return nil
	})
}

const (
	updateKeysRevision = `UPDATE access_revision SET keys_revision = revision WHERE id = 1`

	endRevocation = `
UPDATE revocations SET ends_at = $4, set_by = $5, changed_at = $4, revision = $6
WHERE game = $1 AND kind = $2 AND id = $3 AND (ends_at = 0 OR ends_at > $4)`

	selectAccount = `SELECT player FROM accounts WHERE game = $1 AND subject IN ($2, $3) ORDER BY player LIMIT 1`
)

// accessChange is a transaction that changes revocations, accounts or keys. It holds the lock
// on the revision until it is committed. So revisions are in commit order.
type accessChange struct {
	*transaction
	seq int64 // its revision
	now int64 // time of its start by the database's clock, epoch ms
}

// inAccessChange runs f in a transaction with the next revision. It also deletes revocations
// that ended longer than identity.EndedRevocationTTL ago.
func inAccessChange(ctx context.Context, db *database, f func(c *accessChange) error) error {
	return db.inTx(ctx, func(tx *transaction) error {
		c := &accessChange{transaction: tx}
		c.nextRevision(ctx)
		tx.exec(ctx, `DELETE FROM revocations WHERE ends_at > 0 AND ends_at < $1`, c.now-identity.EndedRevocationTTL.Milliseconds())
		return f(c)
	})
}

// nextRevision assigns the next revision to the change. A transaction calls it once for
// each revocation. The time of the change stays that of the first call.
func (c *accessChange) nextRevision(ctx context.Context) {
	now := int64(0)
	c.get(ctx, into(&c.seq, &now), `UPDATE access_revision SET revision = revision + 1 WHERE id = 1 RETURNING revision, {now}`)
	c.now = cmp.Or(c.now, now)
}

func (c *accessChange) save(ctx context.Context, b identity.Revocation) {
	c.exec(ctx, `
INSERT INTO revocations (game, kind, id, issued_before, ends_at, reason, set_by, changed_at, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (game, kind, id) DO UPDATE SET issued_before = excluded.issued_before, ends_at = excluded.ends_at,
    reason = excluded.reason, set_by = excluded.set_by, changed_at = excluded.changed_at, revision = excluded.revision`,
		b.Game, string(b.Kind), b.ID, b.IssuedBefore, b.EndsAt, b.Reason, b.SetBy, c.now, c.seq)
}

// eachSubject calls apply for each subject of a revocation, each with a revision of its
// own. For a guest with a linked account these are the account and then the guest.
// Otherwise it is the subject alone, or the token.
func (c *accessChange) eachSubject(ctx context.Context, revocation identity.Revocation, apply func(id string)) {
	ids := []string{revocation.ID}
	if revocation.Kind != identity.KindToken {
		ids = c.subjectIDs(ctx, revocation.Game, revocation.ID)
	}
	for i, id := range ids {
		if i > 0 {
			c.nextRevision(ctx)
		}
		apply(id)
	}
}

// subjectIDs returns the subjects that belong to the player of id: the linked account, if
// there is one, and the player's own id last.
func (c *accessChange) subjectIDs(ctx context.Context, game, id string) []string {
	player, found := accountPlayer(ctx, c.transaction, game, id)
	if found && player != "" && player != id {
		return []string{id, player}
	}
	if account := c.linkedAccount(ctx, game, id); account != "" {
		return []string{account, id}
	}
	return []string{id}
}

// linkedAccount returns the account that is linked to a guest, or "" if there is none.
func (c *accessChange) linkedAccount(ctx context.Context, game, player string) (account string) {
	c.get(ctx, into(&account), `SELECT subject FROM accounts WHERE game = $1 AND player = $2`, game, player)
	if account == player {
		return ""
	}
	return account
}

// accountPlayer returns the player that an account belongs to, or "" if the account was
// erased. subject is that of the account's tokens.
func accountPlayer(ctx context.Context, tx *transaction, game, subject string) (player string, found bool) {
	found = tx.get(ctx, into(&player), selectAccount, game, subject, tx.db.hashKey.hashSubject(game, subject))
	return player, found
}
