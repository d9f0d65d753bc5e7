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

// Limits are the rate limits of the HTTP API. A nil rule sets no limit.
type Limits struct {
	GuestCalls       *limit.Rule           // all requests for guests, per address
	NewGuests        *limit.Rule           // new guests without an arena code, per address
	GuestsWithCode   *limit.Rule           // new guests with an arena code, per address; its burst must allow the largest arena
	GuestsPerArena   *limit.Rule           // new guests with an arena code, per arena
	NewGuestsPerDay  *limit.Rule           // all new guests, per address
	ArenaCodes       *limit.FailureLimiter // wrong arena codes, per address
	Nicknames        *limit.Rule           // nickname lookups, per address
	Reads            *limit.Rule           // reads of leaderboards, profiles, matches and arenas, per address
	ArenasPerHost    *limit.Rule           // created arenas, per host
	ArenasPerAddress *limit.Rule           // arenas that players create, per address
	Erasures         *limit.Rule           // players who erase themselves, per address
	Changes          *limit.Rule           // changes of nickname and account, per player
	Behaviours       *limit.Rule           // behaviours, per service
	Tasks            *limit.Rule           // task requests, per service
}

// peerAddress returns the address of the other end of the connection.
func peerAddress(r *http.Request) netip.Addr {
	p, _ := netip.ParseAddrPort(r.RemoteAddr) // without an address the key is the zero Addr
	return p.Addr()
}

// addressKey is the key of the client address in the limits.
func (a *api) addressKey(r *request) limit.Key { return limit.Address(a.ClientAddress(r.Request)) }

// admit charges the client address for a request, before anything else about
// the client is known.
func (a *api) admit(r *request, rt route) error {
	const game = "/v1/games/{game}"
	if rt.method == http.MethodPost && rt.path == game+"/guests" {
		return a.Limits.GuestCalls.Take(r.Context(), a.addressKey(r), 1)
	}
	if rt.method != http.MethodGet {
		return nil
	}
	switch rt.path {
	case game + "/nicknames/{name}":
		return a.Limits.Nicknames.Take(r.Context(), a.addressKey(r), 1)
	case game + "/players/{player}", game + "/players/{player}/matches", game + "/matches/{match}",
		game + "/arenas/{code}", game + "/leaderboards", game + "/leaderboards/{window}", game + "/leaderboards/{window}/{player}":
		return a.Limits.Reads.Take(r.Context(), a.addressKey(r), 1)
	}
	return nil
}

// admitGuest charges the client address for a new player: per day and per
// minute.
//
// A guest with the code of an arena counts against GuestsWithCode and
// GuestsPerArena. If those refuse, the guest counts against NewGuests like any
// other. Example: an arena has 3 places. The fourth new guest of the address
// with its code needs a free place in NewGuests.
//
// The daily limit is checked first, so a refusal there uses up nothing of an
// arena. It is charged last, so a refusal of another limit uses up nothing of
// the day.
func (a *api) admitGuest(r *request, code string) error {
	ctx, from := r.Context(), a.addressKey(r)
	if err := a.Limits.NewGuestsPerDay.Check(ctx, from); err != nil {
		return err
	}
	joinInfo, err := a.findArena(r, code)
	if err != nil {
		return err
	}
	var refused error
	if !joinInfo.Over {
		refused = a.admitToArena(r, joinInfo)
	}
	if joinInfo.Over || refused != nil {
		if err := earlierRetry(a.Limits.NewGuests.Take(ctx, from, 1), refused); err != nil {
			return err
		}
	}
	return a.Limits.NewGuestsPerDay.Take(ctx, from, 1)
}

// findArena returns the arena of a code. Over is set if there is none.
func (a *api) findArena(r *request, code string) (joinInfo arena.JoinInfo, err error) {
	if !arenaCode.MatchString(code) {
		return arena.JoinInfo{Over: true}, nil
	}
	err = a.tryCode(r, code, func() (err error) {
		joinInfo, err = a.Arenas.FindJoinInfo(r.Context(), r.game, code)
		return err
	})
	if _, refused := errors.AsType[*protocol.Error](err); refused {
		return arena.JoinInfo{Over: true}, nil
	}
	return joinInfo, err
}

// admitToArena counts a new player against the limits of an arena.
func (a *api) admitToArena(r *request, joinInfo arena.JoinInfo) error {
	if err := a.Limits.GuestsWithCode.Take(r.Context(), a.addressKey(r).WithBurst(joinInfo.MaxPlayers), 1); err != nil {
		return err
	}
	return a.Limits.GuestsPerArena.Take(r.Context(), limit.Named(r.game, joinInfo.ID), 1)
}

// earlierRetry returns the one of two refusals with the shorter wait. It
// returns nil if err is nil.
func earlierRetry(err, other error) error {
	one, ok := errors.AsType[*protocol.Error](err)
	two, also := errors.AsType[*protocol.Error](other)
	if ok && also && two.RetryAfterMS < one.RetryAfterMS {
		return other
	}
	return err
}

// tryCode calls try with a code. A wrong code counts against the client
// address.
func (a *api) tryCode(r *request, code string, try func() error) error {
	return a.Limits.ArenaCodes.Try(r.Context(), a.codeAttempt(r, code), try)
}

// codeAttempt returns the key of an attempt: the address and the code. It
// ignores the token, because players join over the websocket.
func (a *api) codeAttempt(r *request, code string) limit.Attempt {
	return limit.Attempt{Address: a.addressKey(r), Secret: arena.CodeKey(r.game, code)}
}

// admitArena charges the host for an arena. It also charges the address of a
// player, because anyone can become a player.
func (a *api) admitArena(r *request, by identity.Claims) error {
	if by.Role == identity.RolePlayer {
		if err := a.Limits.ArenasPerAddress.Take(r.Context(), a.addressKey(r), 1); err != nil {
			return err
		}
	}
	return a.Limits.ArenasPerHost.Take(r.Context(), limit.Named(r.game, by.Subject), 1)
}

// authenticateChange is authenticatePlayer for requests that change the player.
// It applies the limit Changes.
func (a *api) authenticateChange(r *request) (identity.Claims, error) {
	claims, err := a.authenticatePlayer(r)
	if err == nil {
		err = a.Limits.Changes.Take(r.Context(), limit.Named(r.game, claims.Subject), 1)
	}
	return claims, err
}

// authenticateTaskCall is authenticateService for task requests. It applies the
// limit Tasks.
func (a *api) authenticateTaskCall(r *request) (identity.Claims, error) {
	claims, err := a.authenticateService(r)
	if err == nil {
		err = a.Limits.Tasks.Take(r.Context(), limit.Named(r.game, claims.Subject), 1)
	}
	return claims, err
}
