package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// maxToken bounds a token in bytes: it must fit a websocket frame.
const maxToken = 3 << 10

// latest bounds exp: the last second of the year 9999, epoch s.
const latest = 253402300799

// Tokens issues and verifies tokens. It is safe for concurrent use.
type Tokens struct {
	config  TokensConfig
	parser  *jwt.Parser
	now     func() int64
	refused *prometheus.CounterVec

	keys       currentKeys
	changing   sync.Mutex // held while keys are changed
	configured map[string][]Key
}

// TokensConfig configures Tokens. Games, Keys and Now are required. Now is epoch ms by
// the clock of tokens.
type TokensConfig struct {
	Games      []string
	Configured map[string][]Key // by game; a game without has generated keys in Keys
	Keys       Keys
	Now        func() int64

	Rules    map[string]TokenRules // by game
	Registry prometheus.Registerer // nil: no metrics
}

// TokenRules are a game's rules for tokens besides the signature.
type TokenRules struct {
	// Audience must be in aud. If it is "", aud may be absent, or must name the game or
	// ServerAudience.
	Audience string
	MaxTTL   time.Duration // maximum of exp minus iat; 0 for any
}

// ServerAudience is accepted in aud for admins and for every game without its own
// Audience.
const ServerAudience = "laststand"

// OpenTokens reads the keys of all games and the server's own. It generates those that
// are neither configured nor stored.
func OpenTokens(ctx context.Context, c TokensConfig) (*Tokens, error) {
	keys, err := openKeys(ctx, c.Games, c.Configured, c.Keys)
	if err != nil {
		return nil, err
	}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{HS256, EdDSA}),
		jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
		jwt.WithLeeway(Leeway),
		jwt.WithTimeFunc(func() time.Time { return time.UnixMilli(c.Now()) }),
	)
	t := &Tokens{config: c, parser: parser, now: c.Now, refused: newRefused(c.Registry), configured: maps.Clone(c.Configured)}
	t.keys.ring.Store(&keys)
	return t, nil
}

// jwtClaims are the claims in the token. Game is absent for an admin. nbf is checked if
// an operator's login service sets it.
type jwtClaims struct {
	Subject   string           `json:"sub"`
	Game      string           `json:"game,omitempty"`
	Role      Role             `json:"role"`
	PI        string           `json:"pi,omitempty"`
	ID        string           `json:"jti,omitempty"`
	Audience  jwt.ClaimStrings `json:"aud,omitempty"`
	IssuedAt  *jwt.NumericDate `json:"iat"`
	ExpiresAt *jwt.NumericDate `json:"exp"`
	NotBefore *jwt.NumericDate `json:"nbf,omitempty"`
}

func (c jwtClaims) GetExpirationTime() (*jwt.NumericDate, error) { return c.ExpiresAt, nil }
func (c jwtClaims) GetIssuedAt() (*jwt.NumericDate, error)       { return c.IssuedAt, nil }
func (c jwtClaims) GetNotBefore() (*jwt.NumericDate, error)      { return c.NotBefore, nil }
func (c jwtClaims) GetIssuer() (string, error)                   { return "", nil }
func (c jwtClaims) GetSubject() (string, error)                  { return c.Subject, nil }
func (c jwtClaims) GetAudience() (jwt.ClaimStrings, error)       { return c.Audience, nil }

// Mint signs a token with subject, game, role and pi, and a new id. It lasts ttl, in
// whole seconds from the current second, or from IssuedAt if that is later. expiresAt
// is epoch ms. Errors wrap ErrToken for claims that no token may have, and
// ErrCannotSign for a game whose keys only verify.
func (t *Tokens) Mint(c Claims, ttl time.Duration) (token string, expiresAt int64, err error) {
	if err := c.check(); err != nil {
		return "", 0, err
	}
	keys, rules := t.keys.now(), t.config.Rules[c.Game]
	switch {
	case c.Role != RoleAdmin && !keys.has(c.Game):
		return "", 0, ErrTokenGame
	case ttl < time.Second:
		return "", 0, fmt.Errorf("identity: a token of %v: it must last a second or more", ttl)
	case rules.MaxTTL != 0 && ttl > rules.MaxTTL:
		return "", 0, fmt.Errorf("%w: at most %v", ErrTokenLong, rules.MaxTTL)
	}
	key, err := keys.signing(c.Game, t.now())
	if err != nil {
		return "", 0, err
	}
	iat := jwt.NewNumericDate(time.UnixMilli(max(t.now(), c.IssuedAt)))
	exp := jwt.NewNumericDate(iat.Add(ttl))
	unsigned := jwt.NewWithClaims(key.method, jwtClaims{
		Subject: c.Subject, Game: c.Game, Role: c.Role, PI: c.PI, ID: rand.Text(), Audience: rules.audience(), IssuedAt: iat, ExpiresAt: exp,
	})
	unsigned.Header["kid"] = key.id
	if token, err = unsigned.SignedString(key.sign); err != nil {
		return "", 0, fmt.Errorf("identity: sign: %w", err)
	}
	return token, exp.UnixMilli(), nil
}

// guestTTL is how long a game's guest tokens last.
func (t *Tokens) guestTTL(game string) time.Duration {
	if most := t.config.Rules[game].MaxTTL; most != 0 {
		return min(GuestTTL, most)
	}
	return GuestTTL
}

// Verify returns the claims of a valid token. A key of its game must have signed it, an
// admin's the server's own. Leeway applies to its beginning, not to its end. Errors
// wrap ErrToken and can be shown to the client. It uses no store and ignores the
// context.
func (t *Tokens) Verify(_ context.Context, token string) (Claims, error) {
	c, err := t.verify(token)
	return c, t.countRefusal(err)
}

// countRefusal counts a refusal by its reason.
func (t *Tokens) countRefusal(err error) error {
	if err == nil {
		return nil
	}
	if reason := refusalOf(err); reason != "" {
		t.refused.WithLabelValues(reason).Inc()
	}
	return err
}

func (t *Tokens) verify(token string) (Claims, error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // base64 decoding would skip these characters
		return Claims{}, ErrTokenMalformed
	}
	var wire jwtClaims
	parsed, err := t.parser.ParseWithClaims(token, &wire, t.keyOf)
	if err != nil {
		return Claims{}, refusal(err)
	}
	if wire.IssuedAt == nil || wire.IssuedAt.Unix() < 0 || wire.ExpiresAt.Unix() > latest {
		return Claims{}, ErrTokenMalformed
	}
	c := wire.claims()
	c.Key, _ = parsed.Header["kid"].(string)
	c.IssuedAt, c.ExpiresAt = wire.IssuedAt.UnixMilli(), wire.ExpiresAt.UnixMilli()
	rules := t.config.Rules[c.Game]
	switch {
	case t.now() >= c.ExpiresAt:
		return Claims{}, ErrTokenExpired
	case rules.MaxTTL != 0 && c.ExpiresAt-c.IssuedAt > rules.MaxTTL.Milliseconds():
		return Claims{}, ErrTokenLong
	case !rules.isForAudience(wire.Audience, c.Game):
		return Claims{}, ErrTokenAudience
	}
	return c, nil
}

// isForAudience returns true if a token's audience is this game.
func (r TokenRules) isForAudience(aud []string, game string) bool {
	if r.Audience != "" {
		return slices.Contains(aud, r.Audience)
	}
	return len(aud) == 0 || slices.Contains(aud, ServerAudience) || game != "" && slices.Contains(aud, game)
}

func (r TokenRules) audience() jwt.ClaimStrings {
	if r.Audience == "" {
		return nil
	}
	return jwt.ClaimStrings{r.Audience}
}

// keyOf returns the key that must have signed a token, by its claims. A key of another
// game, or of another algorithm, is never tried.
func (t *Tokens) keyOf(unverified *jwt.Token) (any, error) {
	wire, ok := unverified.Claims.(*jwtClaims)
	if !ok {
		return nil, ErrTokenMalformed
	}
	c := wire.claims()
	if err := c.check(); err != nil {
		return nil, err
	}
	keys := t.keys.now()
	if c.Role != RoleAdmin && !keys.has(c.Game) {
		return nil, ErrTokenGame
	}
	if _, critical := unverified.Header["crit"]; critical { // RFC 7515, 4.1.11: this program supports no critical header
		return nil, ErrTokenMalformed
	}
	id, ok := unverified.Header["kid"].(string)
	if !ok || id == "" {
		return nil, ErrTokenNoKey
	}
	key, found := keys.find(c.Game, id)
	if !found {
		return nil, ErrTokenKey
	}
	if key.method.Alg() != unverified.Method.Alg() {
		return nil, ErrTokenAlg
	}
	return key.verify, nil
}

func (c jwtClaims) claims() Claims {
	return Claims{Subject: c.Subject, Game: c.Game, Role: c.Role, PI: c.PI, ID: c.ID}
}

// algorithm is in the parser's message for an algorithm that it does not accept; the
// library has no error value for it.
const algorithm = "signing method"

// refusal maps an error of the parser to one of this package, without its details.
func refusal(err error) error {
	for _, r := range refusals {
		if errors.Is(err, r.is) {
			return r.is
		}
	}
	switch {
	case strings.Contains(err.Error(), algorithm):
		return ErrTokenAlg
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return ErrTokenSignature
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return ErrTokenNoExpiry
	case errors.Is(err, jwt.ErrTokenExpired):
		return ErrTokenExpired
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued), errors.Is(err, jwt.ErrTokenNotValidYet):
		return ErrTokenFuture
	}
	return ErrTokenMalformed
}
