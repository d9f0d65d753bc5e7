package identity

import (
	"context"
	"errors"
	"fmt"
)

// Verify is Tokens.Verify, and refuses who is barred by what the token says
// itself: ErrTokenRevoked, ErrErased, or ErrBanned (a *BannedError), which is no
// ErrToken. Ensure refuses who is barred as the player of an account.
func (r *Registry) Verify(ctx context.Context, token string) (Claims, error) {
	c, err := r.Tokens.Verify(ctx, token)
	if err != nil {
		return Claims{}, err
	}
	c.gaps = r.Bars.gapsNow()
	if err := r.counted(r.Bars.token(c)); err != nil {
		return Claims{}, err
	}
	return c, nil
}

// CheckHost refuses a host whose subject has been erased: ErrErased.
func (r *Registry) CheckHost(ctx context.Context, c Claims) error {
	_, err := r.Players.Known(ctx, c.Game, c.Subject)
	if errors.Is(err, ErrNotFound) { // hosts are seldom players
		return nil
	}
	return r.counted(err)
}

// Stands is nil while a session may go on that began with claims, of a player or
// host of that id. It asks no store. Errors are those of Verify and Ensure.
func (r *Registry) Stands(c Claims, id string) error {
	if !r.signed(c) {
		return ErrTokenKey
	}
	if c.gaps != r.Bars.gapsNow() {
		return ErrTokenRevoked
	}
	if err := r.Bars.token(c); err != nil {
		return err
	}
	if c.Role == RolePlayer {
		return r.Bars.player(c, id)
	}
	return nil
}

// Tying is a guest with the token of an account.
type Tying struct {
	Guest Claims // of role player
	Token string // of the account, of the same game and role
}

// ErrBadAccount says that the token of an account is refused.
var ErrBadAccount = errors.New("the account's token is refused")

// AccountOf gives the account that a guest is to be tied to: its token is held to
// what every token is. ErrBadAccount with the reason, ErrBanned.
func (r *Registry) AccountOf(ctx context.Context, t Tying) (account string, err error) {
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
