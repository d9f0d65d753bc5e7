package httpapi

import (
	"errors"
	"net/http"
	"net/netip"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/limit"
	"laststand/internal/protocol"
)

// Limits are how often a client may do what. A nil one sets none.
type Limits struct {
	Guests      *limit.Rule    // new and known players of an address, but for those with the code of an arena
	ComingTo    *limit.Rule    // those of an address with the code of an arena
	ArenaGuests *limit.Rule    // those of an arena
	ArenaSeats  *limit.Rule    // new players of an arena, of which it has seatsFor times its places
	ArenaShare  *limit.Rule    // those of an address, of which it bears as many as it has places
	Codes       *limit.Guesses // of arenas
	Nicknames   *limit.Rule    // looks at nicknames, of an address
	Reads       *limit.Rule    // boards, profiles, matches and arenas read by an address
	Hosting     *limit.Rule    // arenas made by a host
	HostingFrom *limit.Rule    // arenas that players of an address make
	Changes     *limit.Rule    // changes of a player's name and account
	Behaviours  *limit.Rule    // behaviours of a service
	Tasks       *limit.Rule    // calls of a service about tasks
}

// seatsFor is how many new players an arena bears for each place that it has:
// some watch, and some come again without their device's secret.
const seatsFor = 2

// peer is the other end of the connection.
func peer(r *http.Request) netip.Addr {
	p, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero Addr counts too
	return p.Addr()
}

func (a *api) from(r *request) limit.Key { return limit.Address(a.Address(r.Request)) }

// admit takes what a route costs the client's address before anything else is
// known of it.
func (a *api) admit(r *request, rt route) error {
	const game = "/v1/games/{game}"
	if rt.method != http.MethodGet {
		return nil
	}
	switch rt.path {
	case game + "/nicknames/{name}":
		return a.Limits.Nicknames.Take(r.Context(), a.from(r), 1)
	case game + "/players/{player}", game + "/players/{player}/matches", game + "/matches/{match}",
		game + "/arenas/{code}", game + "/leaderboards", game + "/leaderboards/{window}", game + "/leaderboards/{window}/{player}":
		return a.Limits.Reads.Take(r.Context(), a.from(r), 1)
	}
	return nil
}

// admitGuest has an arena bear the call of a player who comes with its code, and
// the address all others. What it gives is to be called once a player is new.
//
// Where the arena bears no more, or no more of this address, who comes is a guest
// of the address like any other: so that one client, which can be as many devices
// as it likes, closes an arena to nobody.
func (a *api) admitGuest(r *request, code string) (pay func(), err error) {
	door, err := a.door(r, code)
	if err != nil {
		return nil, err
	}
	var refused error
	if !door.Over {
		if pay, refused = a.bear(r, door); refused == nil {
			return pay, nil
		}
	}
	return func() {}, sooner(a.Limits.Guests.Take(r.Context(), a.from(r), 1), refused)
}

// door is that of the arena of a code; one that is over where there is none.
func (a *api) door(r *request, code string) (door arena.Door, err error) {
	if !arenaCode.MatchString(code) {
		return arena.Door{Over: true}, nil
	}
	err = a.guess(r, code, func() (err error) {
		door, err = a.Arenas.Door(r.Context(), r.game, code)
		return err
	})
	if _, refused := errors.AsType[*protocol.Error](err); refused {
		return arena.Door{Over: true}, nil
	}
	return door, err
}

// bear has an arena bear a call, and what it gives a new player.
func (a *api) bear(r *request, door arena.Door) (pay func(), err error) {
	ctx, from := r.Context(), a.from(r)
	all := limit.Named(r.game, door.ID)
	seats := all.UpTo(seatsFor * door.MaxPlayers)
	share := limit.Named(r.game, door.ID+"/"+from.String()).UpTo(door.MaxPlayers)
	for _, ask := range []func() error{
		func() error { return a.Limits.ArenaShare.Ask(ctx, share) },
		func() error { return a.Limits.ArenaSeats.Ask(ctx, seats) },
		func() error { return a.Limits.ComingTo.Take(ctx, from, 1) },
		func() error { return a.Limits.ArenaGuests.Take(ctx, all, 1) },
	} {
		if err := ask(); err != nil {
			return nil, err
		}
	}
	return func() {
		a.Limits.ArenaShare.Charge(ctx, share, 1)
		a.Limits.ArenaSeats.Charge(ctx, seats, 1)
	}, nil
}

// sooner is of two refusals the one that is to be tried again first; none where
// the first is none.
func sooner(err, other error) error {
	one, ok := errors.AsType[*protocol.Error](err)
	two, also := errors.AsType[*protocol.Error](other)
	if ok && also && two.RetryAfterMS < one.RetryAfterMS {
		return other
	}
	return err
}

// guess tries a code, which the address is charged for if it is wrong.
func (a *api) guess(r *request, code string, try func() error) error {
	return a.Limits.Codes.Try(r.Context(), a.guessOf(r, code), try)
}

// guessOf is a code by whom it comes from. The token of who tries it, if there is
// one, is not looked at: players come over the websocket.
func (a *api) guessOf(r *request, code string) limit.Guess {
	return limit.Guess{From: a.from(r), Secret: arena.Secret(r.game, code)}
}

// admitArena takes what an arena costs its host, and the address of a player,
// whom anyone can be.
func (a *api) admitArena(r *request, by identity.Claims) error {
	if by.Role == identity.RolePlayer {
		if err := a.Limits.HostingFrom.Take(r.Context(), a.from(r), 1); err != nil {
			return err
		}
	}
	return a.Limits.Hosting.Take(r.Context(), limit.Named(r.game, by.Subject), 1)
}

// changer is the request's player, as player gives it, who is about to change
// what is known of them.
func (a *api) changer(r *request) (identity.Claims, error) {
	claims, err := a.player(r)
	if err == nil {
		err = a.Limits.Changes.Take(r.Context(), limit.Named(r.game, claims.Subject), 1)
	}
	return claims, err
}

// worker is the request's service, as service gives it, unless it calls too often
// about tasks.
func (a *api) worker(r *request) (identity.Claims, error) {
	claims, err := a.service(r)
	if err == nil {
		err = a.Limits.Tasks.Take(r.Context(), limit.Named(r.game, claims.Subject), 1)
	}
	return claims, err
}
