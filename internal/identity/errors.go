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
	ErrTokenMalformed   = fmt.Errorf("%w: malformed; it must be a JWT with kid, sub, game, role, iat and exp", ErrToken)
	ErrTokenSignature   = fmt.Errorf("%w: wrong signature, or a key that the game does not have", ErrToken)
	ErrTokenExpired     = fmt.Errorf("%w: expired", ErrToken)
	ErrTokenNotYetValid = fmt.Errorf("%w: not yet valid; iat must be in seconds, and the clock of its signer may be ahead", ErrToken)
	ErrTokenGame        = fmt.Errorf("%w: unknown game", ErrToken)
	ErrTokenRole        = fmt.Errorf("%w: unknown role", ErrToken)
	ErrTokenSubject     = fmt.Errorf("%w: sub must be 1 to 64 of A-Z a-z 0-9 _ . : - and not %q", ErrToken, reservedID)
	ErrTokenPI          = fmt.Errorf("%w: pi must be %d of a-z 0-9, and only a player has one", ErrToken, piBytes)
	ErrTokenAudience    = fmt.Errorf("%w: for another audience", ErrToken)
	ErrTokenLifetime    = fmt.Errorf("%w: exp is too far after iat", ErrToken)
	ErrTokenRevoked     = fmt.Errorf("%w: revoked; get a new one", ErrToken)
	ErrUnknownGuest     = fmt.Errorf("%w: the server does not know this guest; get a token for the device again", ErrToken)
	ErrErased           = fmt.Errorf("%w: the player has been erased", ErrToken)

	ErrTokenNoKey    = fmt.Errorf("%w; it names no key (kid)", ErrTokenMalformed)
	ErrTokenNoExpiry = fmt.Errorf("%w; it has no exp", ErrTokenMalformed)
	ErrTokenKey      = fmt.Errorf("%w; kid is unknown here", ErrTokenSignature)
	ErrTokenAlg      = fmt.Errorf("%w; alg is not that of the key", ErrTokenSignature)
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
	ErrBanned            = errors.New("banned from this game by its operator")
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

// refusal is a refused token: one of the reasons of this package, and a text that also names
// the wrong value and the allowed ones.
type refusal struct {
	reason error
	text   string
}

func (r *refusal) Error() string { return ErrToken.Error() + ": " + r.text }

// Unwrap returns the reason.
func (r *refusal) Unwrap() error { return r.reason }

// refuse returns a refusal for a reason that wraps ErrToken.
func refuse(reason error, format string, args ...any) error {
	return &refusal{reason, fmt.Sprintf(format, args...)}
}

// refuseGame returns the refusal of a token for a game that does not exist here.
func refuseGame(game string) error {
	if len(game) > maxIDBytes { // the sender may not have a key: do not repeat long texts
		game = game[:maxIDBytes] + "…"
	}
	return refuse(ErrTokenGame, "unknown game %q", game)
}
