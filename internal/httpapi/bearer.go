package httpapi

import (
	"strings"

	"laststand/internal/identity"
	"laststand/internal/protocol"
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
