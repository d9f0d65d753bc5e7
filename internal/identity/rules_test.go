package identity

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// newStrictTokens returns the tokens of two games. One requires an audience and limits the
// lifetime of tokens; the other does not.
func newStrictTokens(t *testing.T) *Tokens {
	t.Helper()
	key := func(letter string) []Key {
		return []Key{{ID: "k1", Alg: HS256, Secret: bytes.Repeat([]byte(letter), 32)}}
	}
	tokens, err := OpenTokens(t.Context(), TokensConfig{
		Games: []string{game, otherGame}, Keys: newStore(), Now: func() int64 { return start }, Registry: prometheus.NewRegistry(),
		Configured: map[string][]Key{game: key("s"), otherGame: key("o")},
		Rules:      map[string]TokenRules{game: {Audience: "quiz", MaxTTL: time.Hour}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestTokenRulesApplyPerGame(t *testing.T) {
	t.Parallel()
	tokens, now := newStrictTokens(t), start/1000
	for name, tt := range map[string]struct {
		game string
		aud  any
		ttl  int64
		want error
	}{
		"the required audience":                   {game, "quiz", 3600, nil},
		"the required audience among others":      {game, []string{"a", "quiz"}, 60, nil},
		"no audience":                             {game, nil, 60, ErrTokenAudience},
		"an empty list of audiences":              {game, []string{}, 60, ErrTokenAudience},
		"the game's name as audience":             {game, game, 60, ErrTokenAudience},
		"the server's audience":                   {game, ServerAudience, 60, ErrTokenAudience},
		"a lifetime that is a second too long":    {game, "quiz", 3601, ErrTokenLifetime},
		"a long lifetime in a game without rules": {otherGame, nil, 1 << 30, nil},
		"the audience of another game":            {otherGame, "quiz", 60, ErrTokenAudience},
	} {
		claims := map[string]any{"sub": "p_1", "game": tt.game, "role": "player", "iat": now, "exp": now + tt.ttl}
		if tt.aud != nil {
			claims["aud"] = tt.aud
		}
		secret := bytes.Repeat([]byte(map[string]string{game: "s", otherGame: "o"}[tt.game]), 32)
		token := signToken(t, jwt.SigningMethodHS256, secret, map[string]any{"kid": "k1"}, claims)
		if _, err := tokens.Verify(t.Context(), token); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if n := testutil.ToFloat64(tokens.refusals.WithLabelValues("audience")); n != 5 {
		t.Errorf("%v refusals for their audience are counted", n)
	}
	if n := testutil.ToFloat64(tokens.refusals.WithLabelValues("too_long")); n != 1 {
		t.Errorf("%v refusals for their lifetime are counted", n)
	}
}

// The text of a refusal names the claim to change and its allowed values.
func TestRefusalsNameTheAllowedValues(t *testing.T) {
	t.Parallel()
	tokens, now := newStrictTokens(t), start/1000
	for name, tt := range map[string]struct {
		game    string
		changes map[string]any
		want    string
	}{
		"wrong audience":         {game, map[string]any{"aud": game}, `aud must be "quiz", the value of games.` + game + `.token_audience`},
		"missing audience":       {game, nil, `aud is missing; it must be "quiz", the value of games.` + game + `.token_audience`},
		"audience of a free one": {otherGame, map[string]any{"aud": "x"}, `aud must be absent, or be "` + otherGame + `" or "laststand"`},
		"too long":               {game, map[string]any{"exp": now + 7200, "aud": "quiz"}, `exp is 2h0m0s after iat; games.` + game + `.max_token_ttl allows 1h0m0s`},
		"unknown role":           {otherGame, map[string]any{"role": "king"}, "unknown role; use player, host, service or admin"},
		"admin with a game":      {otherGame, map[string]any{"role": "admin"}, "role admin must have no game"},
		"no game":                {otherGame, map[string]any{"game": ""}, "role player needs the claim game"},
		"unknown game":           {otherGame, map[string]any{"game": "nowhere"}, `unknown game "nowhere"`},
		"long unknown game":      {otherGame, map[string]any{"game": strings.Repeat("g", 100)}, `unknown game "` + strings.Repeat("g", 64) + `…"`},
		"iat in ms":              {otherGame, map[string]any{"iat": now * 1000}, "not yet valid; iat must be in seconds, and the clock of its signer may be ahead"},
		"exp in ms":              {otherGame, map[string]any{"exp": now * 1000}, "exp must be in seconds"},
	} {
		claims := map[string]any{"sub": "p_1", "game": tt.game, "role": "player", "iat": now, "exp": now + 60}
		maps.Copy(claims, tt.changes)
		secret := bytes.Repeat([]byte(map[string]string{game: "s", otherGame: "o"}[tt.game]), 32)
		token := signToken(t, jwt.SigningMethodHS256, secret, map[string]any{"kid": "k1"}, claims)
		if _, err := tokens.Verify(t.Context(), token); err == nil || err.Error() != "token refused: "+tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// Tokens that the server mints follow the configured rules. A guest's token gets the longest
// lifetime that the rules allow.
func TestMintedTokensFollowTheRules(t *testing.T) {
	t.Parallel()
	tokens := newStrictTokens(t)
	claims := Claims{Subject: "p_1", Game: game, Role: RolePlayer}
	token, _, err := tokens.Mint(claims, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Verify(t.Context(), token); err != nil {
		t.Error(err)
	}
	if _, _, err := tokens.Mint(claims, time.Hour+time.Second); !errors.Is(err, ErrTokenLifetime) {
		t.Errorf("a token with a longer lifetime: %v", err)
	}
	guest, err := newTestRegistryWith(t, newStore(), tokens).Guest(t.Context(), guestRequest("Ada"))
	if err != nil || guest.ExpiresAt != start/1000*1000+secondsToMS(3600) {
		t.Errorf("guest %+v, %v", guest, err)
	}
}

// Each refusal is counted with its own reason. An accepted token is not counted.
func TestEachRefusalHasItsOwnLabel(t *testing.T) {
	t.Parallel()
	labels := map[string]bool{}
	for _, declared := range declaredRefusals {
		found, ok := errors.AsType[*refusal](fmt.Errorf("verify: %w", declared))
		if labels[declared.label] || !ok || found.label != declared.label {
			t.Errorf("%v is counted as %v, want %q and no label twice", declared, found, declared.label)
		}
		labels[declared.label] = true
	}
	for _, other := range []error{nil, errStore, ErrNotFound, ErrNotPlayer} {
		if reason, ok := errors.AsType[*refusal](other); ok {
			t.Errorf("%v is counted as %q", other, reason.label)
		}
	}
}
