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
	GuestCalls  *limit.Rule    // calls for new and known guests, of an address
	Guests      *limit.Rule    // new guests of an address, but for those with the code of an arena
	ComingTo    *limit.Rule    // those of an address with the code of an arena; its burst is that of the largest arena
	ArenaGuests *limit.Rule    // those of an arena
	GuestsADay  *limit.Rule    // all new guests of an address
	Codes       *limit.FailureLimiter // of arenas
	Nicknames   *limit.Rule    // looks at nicknames, of an address
	Reads       *limit.Rule    // boards, profiles, matches and arenas read by an address
	Hosting     *limit.Rule    // arenas made by a host
	HostingFrom *limit.Rule    // arenas that players of an address make
	Erasures    *limit.Rule    // players of an address who erase themselves
	Changes     *limit.Rule    // changes of a player's name and account
	Behaviours  *limit.Rule    // behaviours of a service
	Tasks       *limit.Rule    // calls of a service about tasks
}

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
	if rt.method == http.MethodPost && rt.path == game+"/guests" {
		return a.Limits.GuestCalls.Take(r.Context(), a.from(r), 1)
	}
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

// admitGuest takes what a new player costs the client's address: in a day, and in a
// minute. One who comes with the code of an arena counts among those who do, of
// whom an address may bring as many at once as the arena has places. Where these
// are too many, the new player counts among all others of the address. The day is asked first, so
// that who is refused for it takes nothing of an arena's, and taken from last, so
// that who is refused for the minute takes nothing of the day's.
func (a *api) admitGuest(r *request, code string) error {
	ctx, from := r.Context(), a.from(r)
	if err := a.Limits.GuestsADay.Check(ctx, from); err != nil {
		return err
	}
	door, err := a.door(r, code)
	if err != nil {
		return err
	}
	var refused error
	if !door.Over {
		refused = a.bear(r, door)
	}
	if door.Over || refused != nil {
		if err := sooner(a.Limits.Guests.Take(ctx, from, 1), refused); err != nil {
			return err
		}
	}
	return a.Limits.GuestsADay.Take(ctx, from, 1)
}

// door is that of the arena of a code; one that is over where there is none.
func (a *api) door(r *request, code string) (door arena.JoinInfo, err error) {
	if !arenaCode.MatchString(code) {
		return arena.JoinInfo{Over: true}, nil
	}
	err = a.guess(r, code, func() (err error) {
		door, err = a.Arenas.FindJoinInfo(r.Context(), r.game, code)
		return err
	})
	if _, refused := errors.AsType[*protocol.Error](err); refused {
		return arena.JoinInfo{Over: true}, nil
	}
	return door, err
}

// bear counts a new player for an arena.
func (a *api) bear(r *request, door arena.JoinInfo) error {
	if err := a.Limits.ComingTo.Take(r.Context(), a.from(r).WithBurst(door.MaxPlayers), 1); err != nil {
		return err
	}
	return a.Limits.ArenaGuests.Take(r.Context(), limit.Named(r.game, door.ID), 1)
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
func (a *api) guessOf(r *request, code string) limit.Attempt {
	return limit.Attempt{Address: a.from(r), Secret: arena.CodeKey(r.game, code)}
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
