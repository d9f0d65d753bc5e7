package identity

import (
	"errors"
	"fmt"
)

// ErrToken says that a token is refused. The errors that wrap it say why, in
// words that a client may see.
var ErrToken = errors.New("token refused")

// Why a token is refused.
var (
	ErrTokenMalformed = fmt.Errorf("%w: malformed; it must be a JWT with kid, sub, game, role, iat and exp", ErrToken)
	ErrTokenSignature = fmt.Errorf("%w: wrong signature, or a key that the game does not have", ErrToken)
	ErrTokenExpired   = fmt.Errorf("%w: expired", ErrToken)
	ErrTokenFuture    = fmt.Errorf("%w: not in force yet; the clock of who signed it may be ahead", ErrToken)
	ErrTokenGame      = fmt.Errorf("%w: unknown game", ErrToken)
	ErrTokenRole      = fmt.Errorf("%w: unknown role", ErrToken)
	ErrTokenSubject   = fmt.Errorf("%w: sub must be 1 to 64 of A-Z a-z 0-9 _ . : - and not %q", ErrToken, reserved)
	ErrTokenPI        = fmt.Errorf("%w: pi must be %d of a-z 0-9, and only a player has one", ErrToken, piLen)
)

// What else is refused, in words that a client may see, beside
// nickname.ErrInvalid. The first two are the stores' to return.
var (
	ErrNotFound      = errors.New("no such player")
	ErrNicknameTaken = errors.New("nickname taken")
	ErrNoGame        = errors.New("no such game")
	ErrBadDevice     = errors.New("device must be 22 to 64 random characters of A-Z a-z 0-9 _ -")
	ErrNotPlayer     = errors.New("only a player can do this: the token is of another role")
	ErrCannotSign    = errors.New("the game's keys only verify")
)

// TakenError is ErrNicknameTaken with other nicknames, three or none, that
// were free just now.
type TakenError struct{ Suggestions []string }

func (e *TakenError) Error() string { return ErrNicknameTaken.Error() }

// Unwrap is ErrNicknameTaken.
func (e *TakenError) Unwrap() error { return ErrNicknameTaken }
