package identity

import (
	"context"
	"errors"
)

// Availability says whether a nickname is free.
type Availability struct {
	Nickname    string // as it is displayed
	Available   bool
	Suggestions []string // if it is not free: three free ones, or none if the server did not find three
}

// Available returns whether a requester could claim a nickname, as far as this node
// knows. A later claim may still fail. Errors are ErrNoGame and nickname.ErrInvalid.
func (r *Registry) Available(ctx context.Context, game, requested string, requester Requester) (Availability, error) {
	if !r.keys().has(game) {
		return Availability{}, ErrNoGame
	}
	name, err := r.parseName(game, requested)
	if err != nil {
		return Availability{}, err
	}
	free, err := r.isFree(ctx, game, name)
	if err != nil {
		return Availability{}, err
	}
	result := Availability{Nickname: name.Display, Available: free && !r.isReservedForOthers(ctx, game, name, requester)}
	if !result.Available {
		result.Suggestions, err = r.suggest(ctx, game, name, requester)
	}
	return result, err
}

// Rename claims a nickname for the player of the claims and frees the old one. It returns
// the new nickname as it is displayed. If the subject is the player's own id, Rename makes
// one call of the ledger, which finds the player. It does not check revocations then: the
// caller has verified the token. Errors are those of Ensure, nickname.ErrInvalid, and
// ErrNicknameTaken (a *TakenError).
func (r *Registry) Rename(ctx context.Context, claims Claims, requested string, requester Requester) (string, error) {
	if err := r.checkPlayerRole(claims); err != nil {
		return "", err
	}
	requester.Player = claims.Subject
	name, err := r.checkClaimable(ctx, claims.Game, requested, requester)
	if err != nil {
		return "", err
	}
	err = r.Names.Rename(ctx, claims.Game, claims.Subject, name.Display, name.Skeleton)
	if errors.Is(err, ErrNotFound) { // the subject has no player yet, is a linked account, or is erased
		player, refusal := r.Ensure(ctx, claims)
		if refusal != nil {
			return "", refusal
		}
		requester.Player = player.ID
		err = r.Names.Rename(ctx, claims.Game, player.ID, name.Display, name.Skeleton)
	}
	switch {
	case errors.Is(err, ErrNicknameTaken):
		r.views[claims.Game].add(name.Skeleton)
		return "", r.takenError(ctx, claims.Game, name, requester, refusalTaken)
	case err != nil:
		return "", err
	}
	r.views[claims.Game].add(name.Skeleton)
	r.hold(ctx, claims.Game, Requester{Player: requester.Player}, name)
	return name.Display, nil
}
