package identity

import (
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// TokenRules are a game's rules for tokens besides the signature.
type TokenRules struct {
	// Audience must be in aud. If Audience is "", aud must be absent, or name the game
	// or ServerAudience.
	Audience string
	MaxTTL   time.Duration // maximum of exp minus iat; 0: no limit
}

// ServerAudience is accepted in aud for admins and for every game without its own
// Audience.
const ServerAudience = "laststand"

// checkAudience returns an error if the game does not accept a token with this claim aud.
func (r TokenRules) checkAudience(aud []string, game string) error {
	if r.isForAudience(aud, game) {
		return nil
	}
	if r.Audience == "" {
		allowed := fmt.Sprintf("%q", ServerAudience)
		if game != "" {
			allowed = fmt.Sprintf("%q or %s", game, allowed)
		}
		return refuse(ErrTokenAudience, "aud must be absent, or be %s", allowed)
	}
	verb := "must be"
	if len(aud) == 0 {
		verb = "is missing; it must be"
	}
	return refuse(ErrTokenAudience, "aud %s %q, the value of games.%s.token_audience", verb, r.Audience, game)
}

// checkLifetime returns an error if the game does not accept tokens with this lifetime.
func (r TokenRules) checkLifetime(ttl time.Duration, game string) error {
	if r.MaxTTL == 0 || ttl <= r.MaxTTL {
		return nil
	}
	return refuse(ErrTokenLifetime, "exp is %v after iat; games.%s.max_token_ttl allows %v", ttl, game, r.MaxTTL)
}

// isForAudience returns true if the game accepts a token with this claim aud.
func (r TokenRules) isForAudience(aud []string, game string) bool {
	if r.Audience != "" {
		return slices.Contains(aud, r.Audience)
	}
	return len(aud) == 0 || slices.Contains(aud, ServerAudience) || game != "" && slices.Contains(aud, game)
}

// audience returns the claim aud of a minted token; nil: none.
func (r TokenRules) audience() jwt.ClaimStrings {
	if r.Audience == "" {
		return nil
	}
	return jwt.ClaimStrings{r.Audience}
}
