package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"

	"laststand/internal/nickname"
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
	if _, hasKey := r.keys().find(claims.Game, claims.KeyID); !hasKey {
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

// Ensure returns the player of the claims. If the subject is an account that is linked to
// a guest, it returns the guest. For a new subject of an operator's login service, it
// creates a player with a generated nickname. Errors are ErrNotPlayer for another role,
// ErrNoGame, ErrErased, ErrTokenRevoked, ErrBanned, or ErrUnknownGuest for a guest that the
// ledger has lost.
func (r *Registry) Ensure(ctx context.Context, claims Claims) (Player, error) {
	player, err := r.findOrCreate(ctx, claims)
	if err == nil {
		err = r.Revocations.checkPlayer(claims, player.ID)
	}
	if err != nil {
		return Player{}, r.countRefusal(err)
	}
	return player, nil
}

// checkPlayerRole refuses claims of another role than player with ErrNotPlayer, and
// claims of an unknown game with ErrNoGame.
func (r *Registry) checkPlayerRole(claims Claims) error {
	switch {
	case claims.Role != RolePlayer:
		return ErrNotPlayer
	case !r.keys().has(claims.Game):
		return ErrNoGame
	}
	return nil
}

// findOrCreate does the work of Ensure, without the check of revocations.
func (r *Registry) findOrCreate(ctx context.Context, claims Claims) (Player, error) {
	if err := r.checkPlayerRole(claims); err != nil {
		return Player{}, err
	}
	player, err := r.Players.Known(ctx, claims.Game, claims.Subject)
	if !errors.Is(err, ErrNotFound) {
		return player, err
	}
	if isGuestID(claims.Subject) { // otherwise the guest would be a second player for its device
		return Player{}, ErrUnknownGuest
	}
	newPlayer := NewPlayer{Game: claims.Game, ID: claims.Subject, JoinedAt: r.now()}
	player, _, err = r.createNamed(ctx, newPlayer, "", r.Players.EnsurePlayer)
	return player, err
}

// createFunc is the method CreateGuest or EnsurePlayer of Players. It returns true if it
// created the player.
type createFunc func(context.Context, NewPlayer) (Player, bool, error)

const (
	maxNicknameDraws = 20 // nicknames drawn for one new player before the server gives up
	filterOnlyDraws  = 10 // first draws, which skip every nickname that this node's filter may contain
)

// createNamed creates a player with a generated nickname. If the player exists already, it
// returns that player. lang is the language of the nickname.
func (r *Registry) createNamed(ctx context.Context, newPlayer NewPlayer, lang string, create createFunc) (Player, bool, error) {
	rng := newRand()
	for draw := range maxNicknameDraws {
		candidate := nickname.Generate(lang, rng)
		requester := Requester{Player: newPlayer.ID, device: newPlayer.DeviceHash}
		if r.Words[newPlayer.Game].Refuse(candidate) != nil || draw < filterOnlyDraws && r.views[newPlayer.Game].mayExist(candidate) ||
			r.isHeldForOthers(ctx, newPlayer.Game, candidate, requester) {
			continue
		}
		player, created, err := r.create(ctx, newPlayer, candidate, create)
		if !errors.Is(err, ErrNicknameTaken) {
			return player, created, err
		}
	}
	return Player{}, false, fmt.Errorf("identity: no free nickname among %d drawn", maxNicknameDraws)
}

// create creates a player with this nickname and adds the nickname to this node's view.
func (r *Registry) create(ctx context.Context, newPlayer NewPlayer, name nickname.Name, create createFunc) (Player, bool, error) {
	newPlayer.Nickname, newPlayer.Skeleton = name.Display, name.Skeleton
	player, created, err := create(ctx, newPlayer)
	if created {
		r.views[newPlayer.Game].add(name.Skeleton)
		holder := Requester{device: newPlayer.DeviceHash}
		if holder.device == "" {
			holder.Player = newPlayer.ID
		}
		r.hold(ctx, newPlayer.Game, holder, name)
	}
	return player, created, err
}

func newPlayerID() string { return "p_" + strings.ToLower(ulid.Make().String()) }

// isGuestID reports whether newPlayerID can have made the id.
func isGuestID(id string) bool {
	text, ok := strings.CutPrefix(id, "p_")
	_, err := ulid.ParseStrict(text)
	return ok && err == nil && text == strings.ToLower(text)
}
