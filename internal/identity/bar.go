package identity

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"
)

// BarKind is what a bar keeps out.
type BarKind string

// The kinds of bars. The last three are not an operator's to set.
const (
	BarBan     BarKind = "ban"     // a player or host, by id
	BarToken   BarKind = "token"   // one token, by its jti
	BarSubject BarKind = "subject" // all tokens of a subject that were issued before an instant
	BarErased  BarKind = "erased"  // who has been a player; after a while under BarStore.ErasedID
	BarTied    BarKind = "tied"    // sessions of a subject that has become a guest's account
	BarUntied  BarKind = "untied"  // sessions of a subject as the guest whose account it no longer is
)

// BarKinds are all kinds.
func BarKinds() []BarKind {
	return []BarKind{BarBan, BarToken, BarSubject, BarErased, BarTied, BarUntied}
}

// Bar keeps somebody out of a game, or tokens of admins, which are in none. Of a game, kind and id there is one.
type Bar struct {
	Game         string // "" for admins
	Kind         BarKind
	ID           string
	IssuedBefore int64  // of BarSubject: epoch ms, on whole seconds
	EndsAt       int64  // epoch ms; 0: never
	Reason       string // shown to who is banned
	By           string // whom the operator's token speaks for
	At           int64  // epoch ms, when it was set or lifted
	Seq          int64  // among all changes, in commit order
}

// MaxReason bounds the reason of a bar, in bytes.
const MaxReason = 500

// Check says what is wrong with a bar that an operator wants at an instant,
// epoch ms: errors wrap ErrBadBar and say what to do.
func (b Bar) Check(now int64) error {
	switch {
	case b.Kind != BarBan && b.Kind != BarToken && b.Kind != BarSubject:
		return fmt.Errorf("%w: the kind must be %s, %s or %s", ErrBadBar, BarBan, BarToken, BarSubject)
	case b.Game == "" && b.Kind == BarBan:
		return fmt.Errorf("%w: an admin cannot be banned from a game; revoke the tokens by kind %s or %s", ErrBadBar, BarToken, BarSubject)
	case !ValidID(b.ID) || b.ID == reserved:
		return fmt.Errorf("%w: id %q is not 1 to %d of A-Z a-z 0-9 _ . : -", ErrBadBar, b.ID, maxID)
	case b.Reason == "" || len(b.Reason) > MaxReason || !utf8.ValidString(b.Reason):
		return fmt.Errorf("%w: the reason must have 1 to %d bytes of UTF-8; a banned player sees it", ErrBadBar, MaxReason)
	case b.EndsAt != 0 && b.EndsAt <= now:
		return fmt.Errorf("%w: the end %d is in the past; use epoch ms, or 0 for no end", ErrBadBar, b.EndsAt)
	case b.EndsAt < 0 || b.EndsAt > latest*1000:
		return fmt.Errorf("%w: the end %d is out of range; use epoch ms", ErrBadBar, b.EndsAt)
	case b.Kind != BarSubject && b.IssuedBefore != 0:
		return fmt.Errorf("%w: issued_before is for the tokens of a subject only", ErrBadBar)
	case b.IssuedBefore < 0 || b.IssuedBefore > now+Leeway.Milliseconds():
		return fmt.Errorf("%w: issued_before %d is in the future; use epoch ms up to now", ErrBadBar, b.IssuedBefore)
	}
	return nil
}

func (b Bar) inForce(now int64) bool { return b.EndsAt == 0 || now < b.EndsAt }

// BannedError is ErrBanned with why and until when, in words for the banned.
type BannedError struct {
	Reason string
	EndsAt int64 // epoch ms; 0: for good
}

func (e *BannedError) Error() string {
	until := "for good"
	if e.EndsAt != 0 {
		until = "until " + time.UnixMilli(e.EndsAt).UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%v %s: %s", ErrBanned, until, e.Reason)
}

// Unwrap is ErrBanned.
func (e *BannedError) Unwrap() error { return ErrBanned }

// Revision says which changes a store has; it rises in commit order.
type Revision struct {
	Bars int64 // of the last change of a bar, or of a kept key
	Keys int64 // of the last change of a kept key
}

// BarStore keeps bars for all nodes.
type BarStore interface {
	Revision(ctx context.Context) (Revision, error)
	// BarsSince gives bars changed after a revision, oldest change first, at
	// most limit; those that have ended among them, for a while.
	BarsSince(ctx context.Context, revision int64, limit int) ([]Bar, error)
	// ErasedID is the id of a BarErased whose subject is forgotten: a keyed hash,
	// which is no ValidID.
	ErasedID(game, subject string) string
}

// BarsKept is how long a store keeps a bar that has ended, so that nodes hear of
// its end which were cut off; one that was for half as long reads all bars. One that
// was for all of it ends all sessions that began before.
const BarsKept = 24 * time.Hour

// SessionsEnd is how long sessions are looked for that a change of a player ends:
// from the change on, and at each node from when it hears of it.
const SessionsEnd = time.Minute
