package httpapi

import (
	"strings"

	"laststand/internal/identity"
	"laststand/internal/protocol"
)

// player is the request's player: the bearer of a token of role player, of the
// game in the path. The subject of the claims is the player's id, also where the
// token is of an account that is tied to a guest.
func (a *api) player(r *request) (identity.Claims, error) {
	claims, err := a.bearer(r)
	if err == nil && claims.Role != identity.RolePlayer {
		err = identity.ErrNotPlayer
	}
	if err != nil {
		return identity.Claims{}, err
	}
	return a.known(r, claims)
}

// known has claims of a player be the player's own.
func (a *api) known(r *request, claims identity.Claims) (identity.Claims, error) {
	p, err := a.Guests.Ensure(r.Context(), claims)
	claims.Subject = p.ID
	return claims, err
}

// service is the request's service, of the game in the path; whoever is none is
// refused.
func (a *api) service(r *request) (identity.Claims, error) {
	claims, err := a.bearer(r)
	if err == nil && claims.Role != identity.RoleService {
		return identity.Claims{}, refuse(codeForbidden, "this is for services: the token is of another role")
	}
	return claims, err
}

// bearer says who sent a request, by a token of the game in the path.
func (a *api) bearer(r *request) (identity.Claims, error) {
	token, ok := bearerToken(r.Header.Values("Authorization"))
	if !ok {
		return identity.Claims{}, refuse(protocol.CodeUnauthorized, "send Authorization: Bearer and a token; POST …/guests gives one")
	}
	claims, err := a.Tokens.Verify(r.Context(), token)
	if err != nil {
		return identity.Claims{}, err
	}
	if claims.Game != r.game {
		return identity.Claims{}, refuse(codeForbidden, "the token is of another game")
	}
	return claims, nil
}

// bearerToken reads the token of RFC 6750; the scheme's case does not matter.
func bearerToken(headers []string) (token string, ok bool) {
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}
