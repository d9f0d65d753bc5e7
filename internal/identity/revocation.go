package identity

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"
)

// RevocationKind says what a revocation refuses.
type RevocationKind string

// The kinds of revocations. An operator cannot set the last three.
const (
	KindBan      RevocationKind = "ban"      // a player or host, by id
	KindToken    RevocationKind = "token"    // one token, by its claim jti
	KindSubject  RevocationKind = "subject"  // all tokens of a subject that were issued before a time
	KindErased   RevocationKind = "erased"   // an erased player; after some time stored under RevocationStore.ErasedID
	KindLinked   RevocationKind = "linked"   // sessions of an account as its own player, because it is now linked to a guest
	KindUnlinked RevocationKind = "unlinked" // sessions of an account as the guest that it was linked to
)

// RevocationKinds returns all kinds.
func RevocationKinds() []RevocationKind {
	return []RevocationKind{KindBan, KindToken, KindSubject, KindErased, KindLinked, KindUnlinked}
}

// Revocation bans a player from a game or revokes tokens. Tokens of admins belong to no
// game. There is at most one revocation per game, kind and id. Its JSON is that of the admin API.
type Revocation struct {
	Game         string         `json:"-"` // "" for tokens of admins
	Kind         RevocationKind `json:"kind"`
	ID           string         `json:"id"`                      // its meaning depends on Kind
	Reason       string         `json:"reason"`                  // shown to a banned player
	SetBy        string         `json:"created_by,omitempty"`    // subject of the operator's token
	ChangedAt    int64          `json:"created_at"`              // when the revocation was set or lifted, epoch ms
	EndsAt       int64          `json:"expires_at,omitempty"`    // epoch ms; 0: never
	IssuedBefore int64          `json:"issued_before,omitempty"` // for KindSubject: epoch ms, on whole seconds
	Seq          int64          `json:"-"`                       // position among all changes, in commit order
}

// MaxReasonBytes is the longest reason, in bytes.
const MaxReasonBytes = 500

// Validate checks a revocation that an operator sets; now is in epoch ms. Errors wrap
// ErrInvalidRevocation, say what is wrong and what to do.
func (r Revocation) Validate(now int64) error {
	switch {
	case r.Kind != KindBan && r.Kind != KindToken && r.Kind != KindSubject:
		return fmt.Errorf("%w: the kind must be %s, %s or %s", ErrInvalidRevocation, KindBan, KindToken, KindSubject)
	case r.Game == "" && r.Kind == KindBan:
		return fmt.Errorf("%w: an admin cannot be banned from a game; revoke the tokens by kind %s or %s", ErrInvalidRevocation, KindToken, KindSubject)
	case !ValidID(r.ID) || r.ID == reservedID:
		return fmt.Errorf("%w: id %q is not 1 to %d of A-Z a-z 0-9 _ . : -", ErrInvalidRevocation, r.ID, maxIDBytes)
	case r.Reason == "" || len(r.Reason) > MaxReasonBytes || !utf8.ValidString(r.Reason):
		return fmt.Errorf("%w: the reason must have 1 to %d bytes of UTF-8; a banned player sees it", ErrInvalidRevocation, MaxReasonBytes)
	case r.EndsAt != 0 && r.EndsAt <= now:
		return fmt.Errorf("%w: the end %d is in the past; use epoch ms, or 0 for no end", ErrInvalidRevocation, r.EndsAt)
	case r.EndsAt < 0 || r.EndsAt > maxExpirySeconds*1000:
		return fmt.Errorf("%w: the end %d is out of range; use epoch ms", ErrInvalidRevocation, r.EndsAt)
	case r.Kind != KindSubject && r.IssuedBefore != 0:
		return fmt.Errorf("%w: issued_before is for the tokens of a subject only", ErrInvalidRevocation)
	case r.IssuedBefore < 0 || r.IssuedBefore > now+Leeway.Milliseconds():
		return fmt.Errorf("%w: issued_before %d is in the future; use epoch ms up to now", ErrInvalidRevocation, r.IssuedBefore)
	}
	return nil
}

func (r Revocation) isInForce(now int64) bool { return r.EndsAt == 0 || now < r.EndsAt }

// BannedError wraps ErrBanned. Its text has the reason and the end of the ban, and is for
// the banned player.
type BannedError struct {
	Reason string
	EndsAt int64 // epoch ms; 0: never
}

func (e *BannedError) Error() string {
	until := "for good"
	if e.EndsAt != 0 {
		until = "until " + time.UnixMilli(e.EndsAt).UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%v %s: %s", ErrBanned, until, e.Reason)
}

// Unwrap returns ErrBanned.
func (e *BannedError) Unwrap() error { return ErrBanned }

// Revision is the state of a RevocationStore. Both numbers grow with each change, in
// commit order.
type Revision struct {
	Revocations int64 // number of the last change of a revocation or a stored key
	Keys        int64 // number of the last change of a stored key
}

// RevocationStore stores revocations for all nodes.
type RevocationStore interface {
	// Revision returns the number of the last change.
	Revision(ctx context.Context) (Revision, error)
	// RevocationsSince returns at most limit revocations that changed after a revision,
	// oldest change first. It includes ended ones for EndedRevocationTTL.
	RevocationsSince(ctx context.Context, revision int64, limit int) ([]Revocation, error)
	// ErasedID returns the id of a KindErased revocation whose subject is no longer
	// stored. It is a keyed hash of the subject, and never a valid id.
	ErasedID(game, subject string) string
}

// EndedRevocationTTL is how long a store keeps an ended revocation. So a node that was cut
// off from the store learns of the end. A node that was cut off for half of this time
// reads all revocations again. A node that was cut off for all of this time ends all
// sessions that started before.
const EndedRevocationTTL = 24 * time.Hour

// SessionEndWindow is how long sessions of a player end after the player was erased,
// linked or unlinked. At each node it also lasts this long from when the node learns of it.
const SessionEndWindow = time.Minute
