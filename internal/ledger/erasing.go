package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"strings"
)

// hashKey is the key of the hashes by which the ledger remembers erased subjects.
type hashKey []byte

const (
	insertLedgerInfo = `INSERT INTO ledger_info (id, epoch, erasure_key) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING`
	selectLedgerInfo = `SELECT epoch, erasure_key FROM ledger_info WHERE id = 1`
)

// loadInfo reads the ledger's epoch and its key. A new ledger gets random ones first.
func (l *Ledger) loadInfo(ctx context.Context) error {
	if _, err := l.exec(ctx, insertLedgerInfo, rand.Text(), rand.Text()); err != nil {
		return err
	}
	var key string
	err := l.readPool.QueryRowContext(ctx, selectLedgerInfo).Scan(&l.epoch, &key)
	l.hashKey = hashKey(key)
	return err
}

// hashSubject returns the text that replaces an erased subject. It starts with #, so it is no
// valid id. Without the key it does not reveal the subject.
func (k hashKey) hashSubject(game, subject string) string {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(game + "\x00" + subject))
	return "#" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// DeriveKey derives a key for a purpose from the ledger's own key. All nodes of a ledger
// get the same key. It cannot be computed without the ledger.
func (l *Ledger) DeriveKey(purpose string) []byte {
	mac := hmac.New(sha256.New, l.hashKey)
	mac.Write([]byte("key for \x00" + purpose)) // never the input of hashSubject, because a game's name has no space
	return mac.Sum(nil)
}

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
func (l *Ledger) replaceByHash(ctx context.Context, tx *sql.Tx, erased erasedSubject) error {
	opaque := ""
	if erased.wasPlayer {
		opaque = newOpaqueID()
	}
	if _, err := tx.ExecContext(ctx, l.expandSQL(insertErased), erased.game, erased.hashSubject(erased.game, erased.subject), opaque); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, deleteSubject, erased.game, erased.subject); err != nil || isGuestID(erased.subject) && !erased.wasPlayer {
		return err
	}
	_, err := tx.ExecContext(ctx, l.expandSQL(insertErasure), erased.game, erased.subject, opaque)
	return err
}
