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
	selectRevision = `SELECT revision, keys_revision FROM access_revision WHERE id = 1`

	selectRevocationWhere  = `SELECT game, kind, id, issued_before, ends_at, reason, set_by, changed_at, revision FROM revocations WHERE `
	selectRevocationsSince = selectRevocationWhere + `revision > $1 ORDER BY revision LIMIT $2`

	selectRevocationsOfGame = selectRevocationWhere + `game = $1 AND revision < $2 AND (kind = $3 OR $3 = '' AND kind <> 'ban') AND (ends_at = 0 OR ends_at > {now}) ORDER BY revision DESC LIMIT $4`
)

// Revision implements identity.RevocationStore.
func (s *Revocations) Revision(ctx context.Context) (r identity.Revision, err error) {
	_, err = s.get(ctx, into(&r.Revocations, &r.Keys), selectRevision)
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
				c.exec(ctx, detachDevice, revocation.Game, id)
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
