package httpapi

import (
	"errors"
	"regexp"

	"laststand/internal/arena"
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// authenticatePlayer returns the claims of a player of the game in the path. The
// subject of the claims is the player id, even if the token names an account that
// is linked to a guest.
func (a *api) authenticatePlayer(r *request) (identity.Claims, error) {
	claims, err := a.authenticate(r)
	if err == nil && claims.Role != identity.RolePlayer {
		err = identity.ErrNotPlayer
	}
	if err != nil {
		return claims, err
	}
	return a.resolvePlayer(r, claims)
}

// resolvePlayer replaces the subject of a player token by the player id.
func (a *api) resolvePlayer(r *request, claims identity.Claims) (identity.Claims, error) {
	player, err := a.Guests.Ensure(r.Context(), claims)
	claims.Subject = player.ID
	return claims, err
}

// authenticateHost returns the claims of a host or a player of the game in the path:
// players may be hosts too. The subject of a player's claims is the player id.
func (a *api) authenticateHost(r *request) (identity.Claims, error) {
	claims, err := a.authenticateHostOrService(r)
	if err == nil && claims.Role == identity.RoleService {
		err = errHostsOnly
	}
	return claims, err
}

var errHostsOnly = protocol.Errorf(protocol.CodeForbidden, "only hosts and players may call this; use a token of role host or player")

// authenticateHostOrService is authenticateHost that also admits services.
func (a *api) authenticateHostOrService(r *request) (identity.Claims, error) {
	claims, err := a.authenticate(r)
	if err != nil {
		return claims, err
	}
	switch claims.Role {
	case identity.RolePlayer:
		return a.resolvePlayer(r, claims)
	case identity.RoleHost:
		return claims, a.Guests.CheckHost(r.Context(), claims)
	case identity.RoleService:
		return claims, nil
	}
	return claims, errHostsOnly
}

// authenticateService returns the claims of a service of the game in the path.
// It refuses tokens of other roles.
func (a *api) authenticateService(r *request) (identity.Claims, error) {
	claims, err := a.authenticate(r)
	if err == nil && claims.Role != identity.RoleService {
		err = protocol.Errorf(protocol.CodeForbidden, "only services may call this; use a token of role service")
	}
	return claims, err
}

// authenticate returns the claims of the bearer token. It refuses a token of
// another game than the one in the path.
func (a *api) authenticate(r *request) (identity.Claims, error) {
	token, ok := httpserver.BearerToken(r.Request)
	if !ok {
		return identity.Claims{}, protocol.Errorf(protocol.CodeUnauthorized, "send the header Authorization: Bearer TOKEN; POST …/guests returns a token")
	}
	claims, err := a.Tokens.Verify(r.Context(), token)
	if err != nil {
		return identity.Claims{}, err
	}
	if claims.Game != r.game {
		return identity.Claims{}, protocol.Errorf(protocol.CodeForbidden, "the token belongs to another game")
	}
	return claims, nil
}

// addressKey returns the key of the client's address for the limits.
func (a *api) addressKey(r *request) overload.Key {
	return overload.AddressKey(a.ClientAddress(r.Request))
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
func (a *api) checkNewGuestLimits(r *request, code string) error {
	ctx, address := r.Context(), a.addressKey(r)
	if err := a.Limits.NewGuestsPerDay.Check(ctx, address); err != nil {
		return err
	}
	joinInfo, err := a.findArena(r, code)
	if err != nil {
		return err
	}
	var arenaRefusal error
	if !joinInfo.IsOver {
		arenaRefusal = a.checkArenaGuestLimits(r, joinInfo)
	}
	if joinInfo.IsOver || arenaRefusal != nil {
		if err := shorterWait(a.Limits.NewGuests.Take(ctx, address, 1), arenaRefusal); err != nil {
			return err
		}
	}
	return a.Limits.NewGuestsPerDay.Take(ctx, address, 1)
}

var arenaCodePattern = regexp.MustCompile(`^[0-9]{6}$`)

// findArena returns the join info of the arena with a code. If there is no such
// arena, or the code may not be tried, it returns a join info with Over true.
func (a *api) findArena(r *request, code string) (joinInfo arena.JoinInfo, err error) {
	if !arenaCodePattern.MatchString(code) {
		return arena.JoinInfo{IsOver: true}, nil
	}
	err = a.tryArenaCode(r, code, func() (err error) {
		joinInfo, err = a.Arenas.FindJoinInfo(r.Context(), r.game, code)
		return err
	})
	if _, isRefusal := errors.AsType[*protocol.Error](err); isRefusal {
		return arena.JoinInfo{IsOver: true}, nil
	}
	return joinInfo, err
}

// checkArenaGuestLimits takes the tokens for a new guest with the code of an
// arena, or returns the refusal.
func (a *api) checkArenaGuestLimits(r *request, joinInfo arena.JoinInfo) error {
	if err := a.Limits.GuestsWithCode.Take(r.Context(), a.addressKey(r).WithBurst(joinInfo.MaxPlayers), 1); err != nil {
		return err
	}
	return a.Limits.GuestsPerArena.Take(r.Context(), overload.ObjectKey(r.game, joinInfo.ID), 1)
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
func (a *api) tryArenaCode(r *request, code string, try func() error) error {
	return a.Limits.ArenaCodes.Try(r.Context(), a.newCodeAttempt(r, code), try)
}

// newCodeAttempt returns an attempt to use the code of an arena, by the client's
// address. It does not use the bearer token, because players join over the
// websocket.
func (a *api) newCodeAttempt(r *request, code string) overload.Attempt {
	return overload.Attempt{Address: a.addressKey(r), Secret: arena.CodeKey(r.game, code)}
}

// checkNewArenaLimits takes a token of the host for a new arena, or returns the
// refusal. If the host is a player, it also takes one of the client's address,
// because anyone can become a player.
func (a *api) checkNewArenaLimits(r *request) error {
	if r.claims.Role == identity.RolePlayer {
		if err := a.Limits.ArenasPerAddress.Take(r.Context(), a.addressKey(r), 1); err != nil {
			return err
		}
	}
	return a.Limits.ArenasPerHost.Take(r.Context(), overload.ObjectKey(r.game, r.claims.Subject), 1)
}

// authenticateChange is authenticatePlayer for a request that changes the player.
// It also takes a token of Limits.Changes.
func (a *api) authenticateChange(r *request) (identity.Claims, error) {
	claims, err := a.authenticatePlayer(r)
	if err == nil {
		err = a.Limits.Changes.Take(r.Context(), overload.ObjectKey(r.game, claims.Subject), 1)
	}
	return claims, err
}

// authenticateTaskCall is authenticateService for a task request. It also takes a
// token of Limits.Tasks.
func (a *api) authenticateTaskCall(r *request) (identity.Claims, error) {
	claims, err := a.authenticateService(r)
	if err == nil {
		err = a.Limits.Tasks.Take(r.Context(), overload.ObjectKey(r.game, claims.Subject), 1)
	}
	return claims, err
}
