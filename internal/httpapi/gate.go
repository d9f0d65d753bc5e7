package httpapi

import (
	"errors"
	"regexp"
	"slices"

	"laststand/internal/arena"
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// access says who may call a route: the bearers of tokens with these roles, or anyone if there are
// none. A call takes a token of the rule, per subject.
type access struct {
	roles   []identity.Role
	refusal error          // of other roles
	rule    *overload.Rule // nil: no limit
}

var (
	errHostsOnly    = protocol.Errorf(protocol.CodeForbidden, "only hosts and players may call this; use a token of role host or player")
	errServicesOnly = protocol.Errorf(protocol.CodeForbidden, "only services may call this; use a token of role service")

	anyone           = access{}
	playersOnly      = access{roles: []identity.Role{identity.RolePlayer}, refusal: identity.ErrNotPlayer}
	hostsOnly        = access{roles: []identity.Role{identity.RolePlayer, identity.RoleHost}, refusal: errHostsOnly} // players may be hosts too
	hostsAndServices = access{roles: append(hostsOnly.roles, identity.RoleService), refusal: errHostsOnly}
	servicesOnly     = access{roles: []identity.Role{identity.RoleService}, refusal: errServicesOnly}
)

func (c access) limitedBy(rule *overload.Rule) access {
	c.rule = rule
	return c
}

// authorize returns the claims of the client, or refuses it. The subject of a player's claims
// is the player id, even if the token names an account that is linked to a guest.
func (a *api) authorize(r *request, allowed access) (identity.Claims, error) {
	if allowed.roles == nil {
		return identity.Claims{}, nil
	}
	claims, err := a.authenticate(r)
	if err == nil && !slices.Contains(allowed.roles, claims.Role) {
		err = allowed.refusal
	}
	if err != nil {
		return claims, err
	}
	switch claims.Role {
	case identity.RolePlayer:
		var player identity.Player
		player, err = a.Guests.Ensure(r.Context(), claims)
		claims.Subject = player.ID
	case identity.RoleHost:
		err = a.Guests.CheckHost(r.Context(), claims)
	}
	if err == nil {
		err = allowed.rule.Take(r.Context(), overload.ObjectKey(r.game, claims.Subject), 1)
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
