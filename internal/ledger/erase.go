package ledger

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"laststand/internal/identity"
)

// isGuestID reports whether an id has the form of this server's ids for guests, which
// are opaque already.
func isGuestID(id string) bool { return strings.HasPrefix(id, "p_") && len(id) == len("p_")+26 }

func newOpaqueID() string { return "p_" + strings.ToLower(rand.Text()) }

const (
	insertErased = `
INSERT INTO accounts (game, subject, player, changed_at, opaque_id) VALUES ($1, $2, '', {now}, $3) ON CONFLICT (game, subject) DO NOTHING`

	deleteSubject = `DELETE FROM accounts WHERE game = $1 AND subject = $2`

	insertErasure = `
INSERT INTO erasures (game, subject, opaque_id, next_step_at, ended_at) VALUES ($1, $2, $3, {now}, CASE WHEN $3 = '' THEN {now} ELSE 0 END)
ON CONFLICT (game, subject) DO NOTHING`
)

// Erase deletes a player with its devices and account, or returns identity.ErrNotFound.
// The nickname becomes free and the profile is deleted immediately. Results stay in the
// ledger. A guest's results keep the guest's id, which is anonymous. Results of a player
// of an operator's login service get a random id; EraseNext renames them in steps.
func (a *Accounts) Erase(ctx context.Context, game, player string) (err error) {
	defer describe(&err, "erase")
	err = inAccessChange(ctx, a.database, func(c *accessChange) error { return a.erase(ctx, c, game, player) })
	return err
}

func (a *Accounts) erase(ctx context.Context, c *accessChange, game, player string) error {
	wasPlayer, err := a.deletePlayer(ctx, c, game, player)
	if err != nil {
		return err
	}
	account, err := c.linkedAccount(ctx, game, player)
	if err != nil {
		return err
	}
	if err := c.eraseSubject(ctx, game, player, wasPlayer); err != nil || account == "" {
		return err
	}
	if err := c.nextRevision(ctx); err != nil {
		return err
	}
	return c.eraseSubject(ctx, game, account, false)
}

// deletePlayer deletes a player, and reports whether its id was also its account. Then
// the player's results must be renamed, so deletePlayer first locks the game's head, as
// commits do. It waits for running corrections, and later ones notice the erasure.
func (a *Accounts) deletePlayer(ctx context.Context, c *accessChange, game, player string) (wasPlayer bool, err error) {
	found, err := scanOptional(c.queryRow(ctx, selectIsOwnAccount, game, player), &wasPlayer)
	if err != nil || !found {
		return false, cmp.Or(err, identity.ErrNotFound)
	}
	if wasPlayer {
		if _, err := a.entries.lockHeadRow(ctx, c.transaction, game); err != nil {
			return false, err
		}
	}
	_, err = c.exec(ctx, deletePlayer, game, player)
	return wasPlayer, err
}

// eraseSubject replaces a subject by its hash, ends its sessions, and schedules the rest
// for EraseNext. wasPlayer means that it was also a player's own id, which may be in
// results. An id that this server made for a guest stays in results, because it is
// anonymous.
func (c *accessChange) eraseSubject(ctx context.Context, game, subject string, wasPlayer bool) error {
	opaque := ""
	if wasPlayer {
		opaque = newOpaqueID()
	}
	if _, err := c.exec(ctx, insertErased, game, c.db.hashKey.hashSubject(game, subject), opaque); err != nil {
		return err
	}
	if _, err := c.exec(ctx, deleteSubject, game, subject); err != nil {
		return err
	}
	if wasPlayer || !isGuestID(subject) {
		if _, err := c.exec(ctx, insertErasure, game, subject, opaque); err != nil {
			return err
		}
	}
	return c.save(ctx, identity.Revocation{
		Game: game, Kind: identity.KindErased, ID: subject, EndsAt: c.now + identity.SessionEndWindow.Milliseconds(), Reason: "erased",
	})
}

// hashKey is the key of the hashes by which the ledger remembers erased subjects.
type hashKey []byte

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
