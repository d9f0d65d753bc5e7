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
	Guests      *limit.Rule // new and known players of an address, but for those with the code of an arena
	ComingTo    *limit.Rule // those of an address with the code of an arena
	ArenaGuests *limit.Rule // those of an arena
	ArenaSeats  *limit.Rule // new players of an arena, of which it has seatsFor times its places
	Codes       *limit.Rule // wrong codes of arenas, of an address
	Nicknames   *limit.Rule // looks at nicknames, of an address
	Reads       *limit.Rule // boards, profiles, matches and arenas read by an address
	Hosting     *limit.Rule // arenas made by a host
	HostingFrom *limit.Rule // arenas that players of an address make
	Changes     *limit.Rule // changes of a player's name and account
	Behaviours  *limit.Rule // behaviours of a service
	Tasks       *limit.Rule // calls of a service about tasks
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
func (a *api) admitGuest(r *request, code string) (pay func(), err error) {
	ctx, from := r.Context(), a.from(r)
	door := arena.Door{Over: true}
	if arenaCode.MatchString(code) {
		err := a.guess(r, func() (err error) {
			door, err = a.Arenas.Door(ctx, r.game, code)
			return err
		})
		if _, refused := errors.AsType[*protocol.Error](err); err != nil && !refused {
			return nil, err
		}
		door.Over = door.Over || err != nil
	}
	if door.Over {
		return func() {}, a.Limits.Guests.Take(ctx, from, 1)
	}
	all := limit.Named(r.game, door.ID)
	seats := all.UpTo(seatsFor * door.MaxPlayers)
	if err := a.Limits.ComingTo.Take(ctx, from, 1); err != nil {
		return nil, err
	}
	if err := a.Limits.ArenaGuests.Take(ctx, all, 1); err != nil {
		return nil, err
	}
	return func() { a.Limits.ArenaSeats.Charge(ctx, seats, 1) }, a.Limits.ArenaSeats.Ask(ctx, seats)
}

// guess tries a code, which the address is charged for if it is wrong.
func (a *api) guess(r *request, try func() error) error {
	return a.Limits.Codes.Guess(r.Context(), a.from(r), try)
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

// worker refuses whoever is no service of the game in the path, or calls too
// often about tasks.
func (a *api) worker(r *request) error {
	claims, err := a.service(r)
	if err != nil {
		return err
	}
	return a.Limits.Tasks.Take(r.Context(), limit.Named(r.game, claims.Subject), 1)
}
