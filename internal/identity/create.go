package identity

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/oklog/ulid/v2"

	"laststand/internal/nickname"
)

// Ensure returns the player of the claims. If the subject is an account that is linked to
// a guest, it returns the guest. For a new subject of an operator's login service, it
// creates a player with a generated nickname. Errors are ErrNotPlayer for another role,
// ErrNoGame, ErrOldRules for a new player, and ErrErased, ErrTokenRevoked or ErrBanned.
func (r *Registry) Ensure(ctx context.Context, c Claims) (Player, error) {
	p, err := r.findOrCreate(ctx, c)
	if err == nil {
		err = r.Revocations.checkPlayer(c, p.ID)
	}
	if err != nil {
		return Player{}, r.countRefusal(err)
	}
	return p, nil
}

// checkPlayerRole refuses claims of another role than player with ErrNotPlayer, and
// claims of an unknown game with ErrNoGame.
func (r *Registry) checkPlayerRole(c Claims) error {
	switch {
	case c.Role != RolePlayer:
		return ErrNotPlayer
	case !r.keys.has(c.Game):
		return ErrNoGame
	}
	return nil
}

// findOrCreate does the work of Ensure, without the check of revocations.
func (r *Registry) findOrCreate(ctx context.Context, c Claims) (Player, error) {
	if err := r.checkPlayerRole(c); err != nil {
		return Player{}, err
	}
	p, err := r.Players.Known(ctx, c.Game, c.Subject)
	if !errors.Is(err, ErrNotFound) {
		return p, err
	}
	newPlayer := NewPlayer{Game: c.Game, ID: c.Subject, JoinedAt: r.now()}
	p, _, err = r.createNamed(ctx, newPlayer, "", r.Players.EnsurePlayer)
	return p, err
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
		if r.Words[newPlayer.Game].Refuse(candidate) != nil || draw < filterOnlyDraws && r.views[newPlayer.Game].mayExist(candidate) {
			continue
		}
		p, created, err := r.create(ctx, newPlayer, candidate, create)
		if !errors.Is(err, ErrNicknameTaken) {
			return p, created, err
		}
	}
	return Player{}, false, fmt.Errorf("identity: no free nickname among %d drawn", maxNicknameDraws)
}

// create creates a player with this nickname and adds the nickname to this node's view.
func (r *Registry) create(ctx context.Context, newPlayer NewPlayer, name nickname.Name, create createFunc) (Player, bool, error) {
	newPlayer.Nickname, newPlayer.Skeleton = name.Display, name.Skeleton
	p, created, err := create(ctx, newPlayer)
	if created {
		r.views[newPlayer.Game].add(name)
	}
	return p, created, r.countOutdated(ctx, newPlayer.Game, err)
}

// newRand returns a random source for drawing nicknames. Only one goroutine may use it.
func newRand() *rand.Rand {
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // a nickname is no secret
}

func newPlayerID() string { return "p_" + strings.ToLower(ulid.Make().String()) }
