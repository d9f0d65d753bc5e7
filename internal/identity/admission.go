package identity

import (
	"context"
	"errors"
	"fmt"
)

// Verify verifies a token like Tokens.Verify. It also refuses a revoked token with
// ErrTokenRevoked or ErrErased. It refuses a banned subject with a *BannedError, which
// wraps ErrBanned and not ErrToken. Verify does not check the player that an account is
// linked to; Ensure does.
func (r *Registry) Verify(ctx context.Context, token string) (Claims, error) {
	claims, err := r.Tokens.Verify(ctx, token)
	if err != nil {
		return Claims{}, err
	}
	claims.missedReads = r.Revocations.missedReads.Load()
	if err := r.countRefusal(r.Revocations.checkToken(claims)); err != nil {
		return Claims{}, err
	}
	return claims, nil
}

// CheckHost refuses a host with ErrErased if the subject of the claims is an erased
// player.
func (r *Registry) CheckHost(ctx context.Context, claims Claims) error {
	_, err := r.Players.Known(ctx, claims.Game, claims.Subject)
	if errors.Is(err, ErrNotFound) { // most hosts are not players
		return nil
	}
	return r.countRefusal(err)
}

// CheckActive returns nil while a session may continue. The parameter c has the claims of
// the session, and id is its player or host. CheckActive reads only this node's memory.
// Its errors are those of Verify and Ensure.
func (r *Registry) CheckActive(claims Claims, id string) error {
	if !r.hasKey(claims) {
		return ErrTokenKey
	}
	if claims.missedReads != r.Revocations.missedReads.Load() {
		return ErrTokenRevoked
	}
	if err := r.Revocations.checkToken(claims); err != nil {
		return err
	}
	if claims.Role == RolePlayer {
		return r.Revocations.checkPlayer(claims, id)
	}
	return nil
}

// LinkRequest asks to link a guest to an account.
type LinkRequest struct {
	Guest Claims // verified claims of the guest, with role player
	Token string // unverified token of the account, for the same game and role
}

// ErrBadAccount means that the server refused the token of an account.
var ErrBadAccount = errors.New("the account's token is refused")

// VerifyAccount verifies the account's token like any other token. It returns the subject
// of the account. Errors are ErrBadAccount with the reason, and ErrBanned.
func (r *Registry) VerifyAccount(ctx context.Context, request LinkRequest) (account string, err error) {
	claims, err := r.Verify(ctx, request.Token)
	switch {
	case errors.Is(err, ErrToken):
		return "", fmt.Errorf("%w: %w", ErrBadAccount, err)
	case err != nil:
		return "", err
	case claims.Role != RolePlayer || claims.Game != request.Guest.Game:
		return "", fmt.Errorf("%w: it must be of role player, and of the same game", ErrBadAccount)
	}
	return claims.Subject, nil
}
