package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"laststand/internal/identity"
)

var _ identity.RevocationStore = (*Ledger)(nil)

const selectRevision = `SELECT revision, keys_revision FROM access_revision WHERE id = 1`

// Revision returns the numbers of the last change of revocations and of the last change
// of keys. A node reads them again when its number is older.
func (l *Ledger) Revision(ctx context.Context) (identity.Revision, error) {
	var r identity.Revision
	if err := l.readPool.QueryRowContext(ctx, selectRevision).Scan(&r.Revocations, &r.Keys); err != nil {
		return identity.Revision{}, fmt.Errorf("ledger: revision: %w", err)
	}
	return r, nil
}

const (
	selectRevocationWhere  = `SELECT game, kind, id, issued_before, ends_at, reason, set_by, changed_at, revision FROM revocations WHERE `
	selectRevocationsSince = selectRevocationWhere + `revision > $1 ORDER BY revision LIMIT $2`

	selectRevocationsOfGame = selectRevocationWhere + `game = $1 AND revision < $2 AND (kind = $3 OR $3 = '' AND kind <> 'ban') AND (ends_at = 0 OR ends_at > {now}) ORDER BY revision DESC LIMIT $4`
)

// RevocationsSince returns up to limit revocations that changed after a revision, oldest
// change first. Ended ones are included for identity.RevocationsKept after their end.
func (l *Ledger) RevocationsSince(ctx context.Context, revision int64, limit int) ([]identity.Revocation, error) {
	return scanRevocations(l.readPool.QueryContext(ctx, selectRevocationsSince, revision, limit))
}

// ListRevocations returns up to limit revocations of a game that are in force, last change first.
// kind selects one kind; "" selects all kinds except bans. before is the Seq of the last
// revocation of the former page; 0 returns the first page.
func (l *Ledger) ListRevocations(ctx context.Context, game string, kind identity.RevocationKind, before int64, limit int) ([]identity.Revocation, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return scanRevocations(l.readPool.QueryContext(ctx, l.expandSQL(selectRevocationsOfGame), game, before, string(kind), limit))
}

// ErasedID returns the keyed hash under which the ledger stores an erased subject. It is
// no valid id.
func (l *Ledger) ErasedID(game, subject string) string { return l.hashKey.hashSubject(game, subject) }

func scanRevocations(rows *sql.Rows, err error) (revocations []identity.Revocation, _ error) {
	err = scanAll(func(rows *sql.Rows) error {
		var revocation identity.Revocation
		err := rows.Scan(&revocation.Game, &revocation.Kind, &revocation.ID, &revocation.IssuedBefore, &revocation.EndsAt, &revocation.Reason, &revocation.SetBy, &revocation.ChangedAt, &revocation.Seq)
		revocations = append(revocations, revocation)
		return err
	})(rows, err)
	if err != nil {
		return nil, fmt.Errorf("ledger: revocations: %w", err)
	}
	return revocations, nil
}

const (
	incrementRevision  = `UPDATE access_revision SET revision = revision + 1 WHERE id = 1 RETURNING revision, {now}`
	updateKeysRevision = `UPDATE access_revision SET keys_revision = revision WHERE id = 1`

	saveRevocation = `
INSERT INTO revocations (game, kind, id, issued_before, ends_at, reason, set_by, changed_at, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (game, kind, id) DO UPDATE SET issued_before = excluded.issued_before, ends_at = excluded.ends_at,
    reason = excluded.reason, set_by = excluded.set_by, changed_at = excluded.changed_at, revision = excluded.revision`

	endRevocation = `
UPDATE revocations SET ends_at = $4, set_by = $5, changed_at = $4, revision = $6
WHERE game = $1 AND kind = $2 AND id = $3 AND (ends_at = 0 OR ends_at > $4)`

	deleteOldRevocations = `DELETE FROM revocations WHERE ends_at > 0 AND ends_at < $1`
)

// accessChange is a transaction that changes revocations, accounts or keys. It holds the lock
// on the revision until it is committed. So revisions are in commit order.
type accessChange struct {
	tx  *sql.Tx
	seq int64 // its revision
	now int64 // time of its start by the database's clock, epoch ms
}

// inAccessChange runs f in a transaction with the next revision. It also deletes revocations
// that ended longer than identity.RevocationsKept ago.
func (l *Ledger) inAccessChange(ctx context.Context, f func(c *accessChange) error) error {
	return l.inTx(ctx, func(tx *sql.Tx) error {
		c := &accessChange{tx: tx}
		if err := c.nextRevision(ctx, l); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, deleteOldRevocations, c.now-identity.EndedRevocationTTL.Milliseconds()); err != nil {
			return err
		}
		return f(c)
	})
}

// nextRevision assigns the next revision to the change. A transaction calls it once for
// each revocation. The time of the change stays that of the first call.
func (c *accessChange) nextRevision(ctx context.Context, l *Ledger) error {
	now := int64(0)
	err := c.tx.QueryRowContext(ctx, l.expandSQL(incrementRevision)).Scan(&c.seq, &now)
	c.now = cmp.Or(c.now, now)
	return err
}

func (c *accessChange) save(ctx context.Context, b identity.Revocation) error {
	_, err := c.tx.ExecContext(ctx, saveRevocation, b.Game, string(b.Kind), b.ID, b.IssuedBefore, b.EndsAt, b.Reason, b.SetBy, b.ChangedAt, b.Seq)
	return err
}

// SetRevocation bans a player, or revokes a token or the tokens of a subject, and returns the
// stored revocation. It replaces a former one of the same kind and id. If the subject is
// a guest or its linked account, it applies to both, and SetRevocation returns that of
// the guest. A revocation of a subject without IssuedBefore applies to all tokens that
// are valid now. A revocation of a subject also detaches the guest's device.
func (l *Ledger) SetRevocation(ctx context.Context, revocation identity.Revocation) (identity.Revocation, error) {
	err := l.inAccessChange(ctx, func(c *accessChange) error {
		if revocation.Kind == identity.KindSubject {
			revocation.IssuedBefore = ceilToSecond(revocation.IssuedBefore, c.now)
		}
		return c.eachSubject(ctx, l, revocation, func(id string) error {
			revocation.ID, revocation.ChangedAt, revocation.Seq = id, c.now, c.seq
			if revocation.Kind == identity.KindSubject {
				if _, err := c.tx.ExecContext(ctx, detachDevice, revocation.Game, id); err != nil {
					return err
				}
			}
			return c.save(ctx, revocation)
		})
	})
	if err != nil {
		return identity.Revocation{}, fmt.Errorf("ledger: set revocation: %w", err)
	}
	return revocation, nil
}

// ceilToSecond rounds a time up to a whole second, because tokens are issued at whole
// seconds. Both times are epoch ms. For 0 it returns a time later than the issue of every
// token that is valid now.
func ceilToSecond(instant, now int64) int64 {
	if instant == 0 {
		instant = now + identity.Leeway.Milliseconds() + 1
	}
	return (instant + 999) / 1000 * 1000
}

// eachSubject calls apply for each subject of a revocation, each with a revision of its
// own. For a guest with a linked account these are the account and then the guest.
// Otherwise it is the subject alone, or the token.
func (c *accessChange) eachSubject(ctx context.Context, l *Ledger, revocation identity.Revocation, apply func(id string) error) error {
	ids := []string{revocation.ID}
	if revocation.Kind != identity.KindToken {
		var err error
		if ids, err = c.subjectIDs(ctx, l, revocation.Game, revocation.ID); err != nil {
			return err
		}
	}
	for i, id := range ids {
		if i > 0 {
			if err := c.nextRevision(ctx, l); err != nil {
				return err
			}
		}
		if err := apply(id); err != nil {
			return err
		}
	}
	return nil
}

// subjectIDs returns the subjects that belong to the player of id: the linked account, if
// there is one, and the player's own id last.
func (c *accessChange) subjectIDs(ctx context.Context, l *Ledger, game, id string) ([]string, error) {
	player, found, err := l.accountPlayer(ctx, c.tx, game, id)
	if err != nil {
		return nil, err
	}
	if found && player != "" && player != id {
		return []string{id, player}, nil
	}
	account, err := c.linkedAccount(ctx, game, id)
	if err != nil || account == "" {
		return []string{id}, err
	}
	return []string{account, id}, nil
}

// linkedAccount returns the account that is linked to a guest, or "" if there is none.
func (c *accessChange) linkedAccount(ctx context.Context, game, player string) (account string, err error) {
	err = c.tx.QueryRowContext(ctx, selectLinkedAccount, game, player).Scan(&account)
	if errors.Is(err, sql.ErrNoRows) || account == player {
		return "", nil
	}
	return account, err
}

// LiftRevocation ends a revocation that an operator has set. For a guest with a linked account
// it ends both. The error is identity.ErrNotRevoked if none is in force.
func (l *Ledger) LiftRevocation(ctx context.Context, revocation identity.Revocation) error {
	err := l.inAccessChange(ctx, func(c *accessChange) error {
		endedCount := int64(0)
		err := c.eachSubject(ctx, l, revocation, func(id string) error {
			result, err := c.tx.ExecContext(ctx, endRevocation, revocation.Game, string(revocation.Kind), id, c.now, revocation.SetBy, c.seq)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			endedCount += n
			return err
		})
		if err == nil && endedCount == 0 {
			err = identity.ErrNotRevoked
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("ledger: lift revocation: %w", err)
	}
	return nil
}
