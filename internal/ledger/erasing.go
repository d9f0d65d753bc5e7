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

// hashKey is the key of the hashes by which erased subjects are remembered.
type hashKey []byte

const (
	saveHashKey   = `UPDATE about SET erasure_key = $1 WHERE one = 1 AND erasure_key = ''`
	insertAbout   = `INSERT INTO about (one, epoch) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`
	selectHashKey = `SELECT erasure_key FROM about WHERE one = 1`
)

// loadHashKey gives the ledger's key, and makes one if there is none yet.
func (l *Ledger) loadHashKey(ctx context.Context, tx *sql.Tx) (key hashKey, err error) {
	for _, statement := range []string{insertAbout, saveHashKey} {
		if _, err := tx.ExecContext(ctx, statement, rand.Text()); err != nil {
			return nil, err
		}
	}
	var text string
	err = tx.QueryRowContext(ctx, selectHashKey).Scan(&text)
	return hashKey(text), err
}

// hash is what remains of an erased subject: it is no id, and tells nobody
// without the key who it was.
func (e hashKey) hash(game, subject string) string {
	mac := hmac.New(sha256.New, e)
	mac.Write([]byte(game + "\x00" + subject))
	return "#" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// DeriveKey makes a key for a purpose from the ledger's own. All nodes of a ledger
// get the same one, and nobody can compute it without the ledger.
func (l *Ledger) DeriveKey(purpose string) []byte {
	mac := hmac.New(sha256.New, l.hashKey)
	mac.Write([]byte("key for \x00" + purpose)) // a game's name has no space: it is no hash of a subject
	return mac.Sum(nil)
}

// isGuestID reports whether an id is one that this server makes for guests, which
// is opaque already.
func isGuestID(id string) bool { return strings.HasPrefix(id, "p_") && len(id) == len("p_")+26 }

func newOpaqueID() string { return "p_" + strings.ToLower(rand.Text()) }

// erasedSubject is a subject that speaks for nobody any more. Own says that it was a
// player's id too, under which there may be results.
type erasedSubject struct {
	hashKey
	game, subject string
	wasPlayer     bool
}

const (
	insertErased = `
INSERT INTO accounts (game, sub, player, at, opaque) VALUES ($1, $2, '', {now}, $3) ON CONFLICT (game, sub) DO NOTHING`

	deleteSubject = `DELETE FROM accounts WHERE game = $1 AND sub = $2`

	insertErasure = `
INSERT INTO erasures (game, subject, opaque, at, ended_at) VALUES ($1, $2, $3, {now}, CASE WHEN $3 = '' THEN {now} ELSE 0 END)
ON CONFLICT (game, subject) DO NOTHING`
)

// replaceByHash leaves of a subject a hash, and has EraseNext wipe it from all else. An id
// that this server made for a guest stays where it is: it says nothing.
func (l *Ledger) replaceByHash(ctx context.Context, tx *sql.Tx, w erasedSubject) error {
	opaque := ""
	if w.wasPlayer {
		opaque = newOpaqueID()
	}
	if _, err := tx.ExecContext(ctx, l.sql(insertErased), w.game, w.hash(w.game, w.subject), opaque); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, deleteSubject, w.game, w.subject); err != nil || isGuestID(w.subject) && !w.wasPlayer {
		return err
	}
	_, err := tx.ExecContext(ctx, l.sql(insertErasure), w.game, w.subject, opaque)
	return err
}
