package identity

import (
	"errors"
	"fmt"
)

// ErrToken means that the server refused a token. The errors that wrap it give the reason.
// Their texts are for clients.
var ErrToken = errors.New("token refused")

// The reasons for refusing a token.
var (
	ErrTokenMalformed   = newRefusal("malformed", ErrToken, ": malformed; it must be a JWT with kid, sub, game, role, iat and exp")
	ErrTokenSignature   = newRefusal("signature", ErrToken, ": wrong signature, or a key that the game does not have")
	ErrTokenExpired     = newRefusal("expired", ErrToken, ": expired")
	ErrTokenNotYetValid = newRefusal("future", ErrToken, ": not yet valid; iat must be in seconds, and the clock of its signer may be ahead")
	ErrTokenGame        = newRefusal("game", ErrToken, ": unknown game")
	ErrTokenRole        = newRefusal("role", ErrToken, ": unknown role")
	ErrTokenSubject     = newRefusal("subject", ErrToken, ": sub must be 1 to 64 of A-Z a-z 0-9 _ . : - and not %q", reservedID)
	ErrTokenPI          = newRefusal("pi", ErrToken, ": pi must be 38 of a-z 0-9, and only a player has one")
	ErrTokenAudience    = newRefusal("audience", ErrToken, ": for another audience")
	ErrTokenLifetime    = newRefusal("too_long", ErrToken, ": exp is too far after iat")
	ErrTokenRevoked     = newRefusal("revoked", ErrToken, ": revoked; get a new one")
	ErrUnknownGuest     = newRefusal("unknown_guest", ErrToken, ": the server does not know this guest; get a token for the device again")
	ErrErased           = newRefusal("erased", ErrToken, ": the player has been erased")

	ErrTokenNoKey    = newRefusal("no_key", ErrTokenMalformed, "; it names no key (kid)")
	ErrTokenNoExpiry = newRefusal("no_expiry", ErrTokenMalformed, "; it has no exp")
	ErrTokenKey      = newRefusal("unknown_key", ErrTokenSignature, "; kid is unknown here")
	ErrTokenAlg      = newRefusal("algorithm", ErrTokenSignature, "; alg is not that of the key")
)

// Other refusals, besides nickname.ErrInvalid. Their texts are for clients. The stores
// return ErrNotFound, ErrNicknameTaken, ErrErased, and the errors about
// accounts, revocations and keys. Only Tokens returns ErrConfiguredKeys.
var (
	ErrNotFound          = errors.New("no such player")
	ErrNicknameTaken     = errors.New("nickname taken")
	ErrNoGame            = errors.New("no such game")
	ErrBadDevice         = errors.New("device must be 22 to 64 random characters of A-Z a-z 0-9 _ -")
	ErrWrongDevice       = errors.New("device is not the secret of this player")
	ErrNoAccount         = errors.New("the player is not linked to an account")
	ErrNotPlayer         = errors.New("only a player can do this: the token is of another role")
	ErrCannotSign        = errors.New("the game's keys only verify")
	ErrBanned            = newRefusal("banned", nil, "banned from this game by its operator")
	ErrAccountTaken      = errors.New("the account cannot be linked to this guest")
	ErrNotGuest          = errors.New("only a guest can be linked to an account: this player has its own account")
	ErrInvalidRevocation = errors.New("ban or revocation refused")
	ErrNotRevoked        = errors.New("not banned or revoked")
	ErrNoKey             = errors.New("no such key")
	ErrKeyInUse          = errors.New("the key cannot be retired")
	ErrTooManyKeys       = errors.New("too many keys")
	ErrConfiguredKeys    = errors.New("the game's keys are those of its configuration: change the files there")
)

// TakenError wraps ErrNicknameTaken. Suggestions has three nicknames that are free at the
// moment, or none.
type TakenError struct{ Suggestions []string }

func (e *TakenError) Error() string { return ErrNicknameTaken.Error() }

// Unwrap returns ErrNicknameTaken.
func (e *TakenError) Unwrap() error { return ErrNicknameTaken }

// refusal is why a token is refused, or a more exact description of another refusal. Its text is for
// clients.
type refusal struct {
	label  string // in metrics
	text   string
	parent error // nil: none
}

func (r *refusal) Error() string { return r.text }

// Unwrap returns the more general error.
func (r *refusal) Unwrap() error { return r.parent }

// declaredRefusals are the refusals that newRefusal has returned.
var declaredRefusals []*refusal

// newRefusal declares a refusal. Its text follows that of the parent.
func newRefusal(label string, parent error, format string, args ...any) *refusal {
	text := fmt.Sprintf(format, args...)
	if parent != nil {
		text = parent.Error() + text
	}
	declared := &refusal{label, text, parent}
	declaredRefusals = append(declaredRefusals, declared)
	return declared
}

// refuse returns a declared refusal with a text that also names the wrong value and the allowed ones.
func refuse(reason *refusal, format string, args ...any) error {
	return &refusal{reason.label, ErrToken.Error() + ": " + fmt.Sprintf(format, args...), reason}
}

// refuseGame returns the refusal of a token for a game that does not exist here.
func refuseGame(game string) error {
	if len(game) > maxIDBytes { // the sender may not have a key: do not repeat long texts
		game = game[:maxIDBytes] + "…"
	}
	return refuse(ErrTokenGame, "unknown game %q", game)
}
