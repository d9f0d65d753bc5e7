package identity

import (
	"context"
	"errors"
	"fmt"
)

// Verify is Tokens.Verify. It also refuses a revoked token with ErrTokenRevoked or
// ErrErased, and a banned subject with ErrBanned (a *BannedError), which does not wrap
// ErrToken. Ensure checks the player behind an account.
func (r *Registry) Verify(ctx context.Context, token string) (Claims, error) {
	c, err := r.Tokens.Verify(ctx, token)
	if err != nil {
		return Claims{}, err
	}
	c.missedReads = r.Revocations.missedReadsNow()
	if err := r.countRefusal(r.Revocations.checkToken(c)); err != nil {
		return Claims{}, err
	}
	return c, nil
}

// CheckHost refuses a host whose subject is erased with ErrErased.
func (r *Registry) CheckHost(ctx context.Context, c Claims) error {
	_, err := r.Players.Known(ctx, c.Game, c.Subject)
	if errors.Is(err, ErrNotFound) { // hosts are seldom players
		return nil
	}
	return r.countRefusal(err)
}

// CheckActive returns nil while a session of these claims and this player or host may
// continue. It uses no store. Its errors are those of Verify and Ensure.
func (r *Registry) CheckActive(c Claims, id string) error {
	if !r.hasKey(c) {
		return ErrTokenKey
	}
	if c.missedReads != r.Revocations.missedReadsNow() {
		return ErrTokenRevoked
	}
	if err := r.Revocations.checkToken(c); err != nil {
		return err
	}
	if c.Role == RolePlayer {
		return r.Revocations.checkPlayer(c, id)
	}
	return nil
}

// LinkRequest is a guest with the token of an account.
type LinkRequest struct {
	Guest Claims // of role player
	Token string // of the account, of the same game and role
}

// ErrBadAccount means that the token of an account is refused.
var ErrBadAccount = errors.New("the account's token is refused")

// VerifyAccount returns the account to link to a guest. Its token is checked like any
// other. Errors are ErrBadAccount with the reason, and ErrBanned.
func (r *Registry) VerifyAccount(ctx context.Context, t LinkRequest) (account string, err error) {
	c, err := r.Verify(ctx, t.Token)
	switch {
	case errors.Is(err, ErrToken):
		return "", fmt.Errorf("%w: %w", ErrBadAccount, err)
	case err != nil:
		return "", err
	case c.Role != RolePlayer || c.Game != t.Guest.Game:
		return "", fmt.Errorf("%w: it must be of role player, and of the same game", ErrBadAccount)
	}
	return c.Subject, nil
}
