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

// Ensure gives the player that claims speak of: of an account that is tied to a
// guest, the guest. One that is seen first, by a token of an operator's own login
// service, becomes a player with a generated nickname. ErrNotPlayer for claims of
// another role, ErrNoGame, ErrOldRules for a new one, and ErrErased, ErrTokenRevoked or ErrBanned for who is
// barred.
func (r *Registry) Ensure(ctx context.Context, c Claims) (Player, error) {
	p, err := r.ensure(ctx, c)
	if err == nil {
		err = r.Bars.player(c, p.ID)
	}
	if err != nil {
		return Player{}, r.counted(err)
	}
	return p, nil
}

// plays refuses claims of whoever is no player.
func (r *Registry) plays(c Claims) error {
	switch {
	case c.Role != RolePlayer:
		return ErrNotPlayer
	case !r.keys.has(c.Game):
		return ErrNoGame
	}
	return nil
}

func (r *Registry) ensure(ctx context.Context, c Claims) (Player, error) {
	if err := r.plays(c); err != nil {
		return Player{}, err
	}
	p, err := r.Players.Known(ctx, c.Game, c.Subject)
	if !errors.Is(err, ErrNotFound) {
		return p, err
	}
	fresh := NewPlayer{Game: c.Game, ID: c.Subject, At: r.now()}
	p, _, err = r.createNamed(ctx, fresh, "", r.Players.EnsurePlayer)
	return p, err
}

// creation is one of the two ways of Players.
type creation func(context.Context, NewPlayer) (Player, bool, error)

const (
	drawTries  = 20 // nicknames drawn for one new player
	trustTries = 10 // of them, those for which the filter's word is enough
)

// createNamed creates a player with a generated nickname, unless there is one.
func (r *Registry) createNamed(ctx context.Context, fresh NewPlayer, lang string, create creation) (Player, bool, error) {
	rng := newRand()
	for try := range drawTries {
		drawn := nickname.Generate(lang, rng)
		if r.Words[fresh.Game].Refuse(drawn) != nil || try < trustTries && r.known[fresh.Game].has(drawn) {
			continue
		}
		p, created, err := r.create(ctx, fresh, drawn, create)
		if !errors.Is(err, ErrNicknameTaken) {
			return p, created, err
		}
	}
	return Player{}, false, fmt.Errorf("identity: no free nickname among %d drawn", drawTries)
}

func (r *Registry) create(ctx context.Context, fresh NewPlayer, n nickname.Name, create creation) (Player, bool, error) {
	fresh.Nickname, fresh.Skeleton = n.Display, n.Skeleton
	p, created, err := create(ctx, fresh)
	if created {
		r.known[fresh.Game].add(n)
	}
	return p, created, r.spelt(ctx, fresh.Game, err)
}

// newRand draws nicknames. It is one goroutine's, as they want it.
func newRand() *rand.Rand {
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // a nickname is no secret
}

func newID() string { return "p_" + strings.ToLower(ulid.Make().String()) }
