package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"strings"
)

// isGuestID reports whether an id has the form of this server's ids for guests, which
// are opaque already.
func isGuestID(id string) bool { return strings.HasPrefix(id, "p_") && len(id) == len("p_")+26 }

func newOpaqueID() string { return "p_" + strings.ToLower(rand.Text()) }

// erasedSubject is a subject to erase. wasPlayer means that it was also a player's own
// id, which may be in results.
type erasedSubject struct {
	hashKey
	game, subject string
	wasPlayer     bool
}

const (
	insertErased = `
INSERT INTO accounts (game, subject, player, changed_at, opaque_id) VALUES ($1, $2, '', {now}, $3) ON CONFLICT (game, subject) DO NOTHING`

	deleteSubject = `DELETE FROM accounts WHERE game = $1 AND subject = $2`

	insertErasure = `
INSERT INTO erasures (game, subject, opaque_id, next_step_at, ended_at) VALUES ($1, $2, $3, {now}, CASE WHEN $3 = '' THEN {now} ELSE 0 END)
ON CONFLICT (game, subject) DO NOTHING`
)

// replaceByHash replaces a subject by its hash, and schedules the rest for EraseNext. An
// id that this server made for a guest stays in results, because it is anonymous.
func (a *Accounts) replaceByHash(ctx context.Context, tx *sql.Tx, erased erasedSubject) error {
	opaque := ""
	if erased.wasPlayer {
		opaque = newOpaqueID()
	}
	if _, err := tx.ExecContext(ctx, a.expandSQL(insertErased), erased.game, erased.hashSubject(erased.game, erased.subject), opaque); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, deleteSubject, erased.game, erased.subject); err != nil || isGuestID(erased.subject) && !erased.wasPlayer {
		return err
	}
	_, err := tx.ExecContext(ctx, a.expandSQL(insertErasure), erased.game, erased.subject, opaque)
	return err
}
