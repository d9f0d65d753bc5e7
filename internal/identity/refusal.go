package identity

import (
	"fmt"
	"time"
)

// refusal is a refused token: one of the reasons of this package, and a text that also names
// the wrong value and the allowed ones.
type refusal struct {
	reason error
	text   string
}

func (r *refusal) Error() string { return ErrToken.Error() + ": " + r.text }

// Unwrap returns the reason.
func (r *refusal) Unwrap() error { return r.reason }

// refuse returns a refusal for a reason that wraps ErrToken.
func refuse(reason error, format string, args ...any) error {
	return &refusal{reason, fmt.Sprintf(format, args...)}
}

// refuseGame returns the refusal of a token for a game that does not exist here.
func refuseGame(game string) error {
	if len(game) > maxIDBytes { // the sender may not have a key: do not repeat long texts
		game = game[:maxIDBytes] + "…"
	}
	return refuse(ErrTokenGame, "unknown game %q", game)
}

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
