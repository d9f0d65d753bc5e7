package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// gate authenticates the clients of requests and applies the limits to them. Each group of
// routes has it, with the services of the Config.
type gate struct{ Config }

// The groups of routes. Each has the handlers of one kind of client or object.
type (
	playerRoutes  struct{ *gate } // guests, nicknames, accounts, profiles
	arenaRoutes   struct{ *gate }
	boardRoutes   struct{ *gate } // leaderboards and settled matches
	serviceRoutes struct{ *gate } // behaviours and tasks of the services of a game
)

// authenticatePlayer returns the claims of a player of the game in the path. The
// subject of the claims is the player id, even if the token names an account that
// is linked to a guest.
func (g *gate) authenticatePlayer(r *request) (identity.Claims, error) {
	claims, err := g.authenticate(r)
	if err == nil && claims.Role != identity.RolePlayer {
		err = identity.ErrNotPlayer
	}
	if err != nil {
		return identity.Claims{}, err
	}
	return g.resolvePlayer(r, claims)
}

// resolvePlayer replaces the subject of a player token by the player id.
func (g *gate) resolvePlayer(r *request, claims identity.Claims) (identity.Claims, error) {
	player, err := g.Guests.Ensure(r.Context(), claims)
	claims.Subject = player.ID
	return claims, err
}

// authenticateService returns the claims of a service of the game in the path.
// It refuses tokens of other roles.
func (g *gate) authenticateService(r *request) (identity.Claims, error) {
	claims, err := g.authenticate(r)
	if err == nil && claims.Role != identity.RoleService {
		return identity.Claims{}, clientErrorf(protocol.CodeForbidden, "only services may call this; use a token of role service")
	}
	return claims, err
}

// authenticate returns the claims of the bearer token. It refuses a token of
// another game than the one in the path.
func (g *gate) authenticate(r *request) (identity.Claims, error) {
	token, ok := bearerToken(r.Header.Values("Authorization"))
	if !ok {
		return identity.Claims{}, clientErrorf(protocol.CodeUnauthorized, "send the header Authorization: Bearer TOKEN; POST …/guests returns a token")
	}
	claims, err := g.Tokens.Verify(r.Context(), token)
	if err != nil {
		return identity.Claims{}, err
	}
	if claims.Game != r.game {
		return identity.Claims{}, clientErrorf(protocol.CodeForbidden, "the token belongs to another game")
	}
	return claims, nil
}

// bearerToken reads the token of an Authorization header (RFC 6750). It ignores
// the case of the scheme.
func bearerToken(headers []string) (token string, ok bool) {
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// addressKey returns the key of the client's address for the limits.
func (g *gate) addressKey(r *request) overload.Key {
	return overload.AddressKey(g.ClientAddress(r.Request))
}

// checkAddressLimits takes a token of the client's address for a request, or
// returns the refusal. It runs before authentication.
func (g *gate) checkAddressLimits(r *request, route route) error {
	if route.method == http.MethodPost && route.path == gamePath+"/guests" {
		return g.Limits.GuestCalls.Take(r.Context(), g.addressKey(r), 1)
	}
	if route.method != http.MethodGet {
		return nil
	}
	switch route.path {
	case gamePath + "/nicknames/{name}":
		return g.Limits.Nicknames.Take(r.Context(), g.addressKey(r), 1)
	case gamePath + "/players/{player}", gamePath + "/players/{player}/matches", gamePath + "/matches/{match}",
		gamePath + "/arenas/{code}", gamePath + "/leaderboards", gamePath + "/leaderboards/{window}", gamePath + "/leaderboards/{window}/{player}":
		return g.Limits.Reads.Take(r.Context(), g.addressKey(r), 1)
	}
	return nil
}

// checkNewGuestLimits takes the tokens for a new guest, or returns the refusal.
// The client's address has a limit per day and a limit per minute.
//
// A guest with the code of an arena takes a token of GuestsWithCode and one of
// GuestsPerArena. If one of them refuses, the guest takes a token of NewGuests
// like any other. Example: an arena has 3 seats. The fourth new guest with its
// code at one address needs a token of NewGuests.
//
// The daily limit is checked first, so that its refusal takes no token of an
// arena. Its token is taken last, so that a refusal of another limit takes no
// token of the day.
func (g *gate) checkNewGuestLimits(r *request, code string) error {
	ctx, address := r.Context(), g.addressKey(r)
	if err := g.Limits.NewGuestsPerDay.Check(ctx, address); err != nil {
		return err
	}
	joinInfo, err := g.findArena(r, code)
	if err != nil {
		return err
	}
	var arenaRefusal error
	if !joinInfo.IsOver {
		arenaRefusal = g.checkArenaGuestLimits(r, joinInfo)
	}
	if joinInfo.IsOver || arenaRefusal != nil {
		if err := shorterWait(g.Limits.NewGuests.Take(ctx, address, 1), arenaRefusal); err != nil {
			return err
		}
	}
	return g.Limits.NewGuestsPerDay.Take(ctx, address, 1)
}

// findArena returns the join info of the arena with a code. If there is no such
// arena, or the code may not be tried, it returns a join info with Over true.
func (g *gate) findArena(r *request, code string) (joinInfo arena.JoinInfo, err error) {
	if !arenaCodePattern.MatchString(code) {
		return arena.JoinInfo{IsOver: true}, nil
	}
	err = g.tryArenaCode(r, code, func() (err error) {
		joinInfo, err = g.Arenas.FindJoinInfo(r.Context(), r.game, code)
		return err
	})
	if _, isRefusal := errors.AsType[*protocol.Error](err); isRefusal {
		return arena.JoinInfo{IsOver: true}, nil
	}
	return joinInfo, err
}

// checkArenaGuestLimits takes the tokens for a new guest with the code of an
// arena, or returns the refusal.
func (g *gate) checkArenaGuestLimits(r *request, joinInfo arena.JoinInfo) error {
	if err := g.Limits.GuestsWithCode.Take(r.Context(), g.addressKey(r).WithBurst(joinInfo.MaxPlayers), 1); err != nil {
		return err
	}
	return g.Limits.GuestsPerArena.Take(r.Context(), overload.ObjectKey(r.game, joinInfo.ID), 1)
}

// shorterWait returns the refusal with the shorter retry time. other may be nil.
// It returns nil if err is nil.
func shorterWait(err, other error) error {
	refusal, ok := errors.AsType[*protocol.Error](err)
	otherRefusal, okOther := errors.AsType[*protocol.Error](other)
	if ok && okOther && otherRefusal.RetryAfterMS < refusal.RetryAfterMS {
		return other
	}
	return err
}

// tryArenaCode calls try, which looks up the code of an arena, or returns a
// refusal. A wrong code takes a token of the client's address.
func (g *gate) tryArenaCode(r *request, code string, try func() error) error {
	return g.Limits.ArenaCodes.Try(r.Context(), g.newCodeAttempt(r, code), try)
}

// newCodeAttempt returns an attempt to use the code of an arena, by the client's
// address. It does not use the bearer token, because players join over the
// websocket.
func (g *gate) newCodeAttempt(r *request, code string) overload.Attempt {
	return overload.Attempt{Address: g.addressKey(r), Secret: arena.CodeKey(r.game, code)}
}

// checkNewArenaLimits takes a token of the host for a new arena, or returns the
// refusal. If the host is a player, it also takes one of the client's address,
// because anyone can become a player.
func (g *gate) checkNewArenaLimits(r *request, host identity.Claims) error {
	if host.Role == identity.RolePlayer {
		if err := g.Limits.ArenasPerAddress.Take(r.Context(), g.addressKey(r), 1); err != nil {
			return err
		}
	}
	return g.Limits.ArenasPerHost.Take(r.Context(), overload.ObjectKey(r.game, host.Subject), 1)
}

// authenticateChange is authenticatePlayer for a request that changes the player.
// It also takes a token of Limits.Changes.
func (g *gate) authenticateChange(r *request) (identity.Claims, error) {
	claims, err := g.authenticatePlayer(r)
	if err == nil {
		err = g.Limits.Changes.Take(r.Context(), overload.ObjectKey(r.game, claims.Subject), 1)
	}
	return claims, err
}

// authenticateTaskCall is authenticateService for a task request. It also takes a
// token of Limits.Tasks.
func (g *gate) authenticateTaskCall(r *request) (identity.Claims, error) {
	claims, err := g.authenticateService(r)
	if err == nil {
		err = g.Limits.Tasks.Take(r.Context(), overload.ObjectKey(r.game, claims.Subject), 1)
	}
	return claims, err
}
