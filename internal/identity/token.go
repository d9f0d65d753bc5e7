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

// maxToken bounds a token in bytes: it must fit a websocket's frame.
const maxToken = 3 << 10

// latest bounds exp: the last instant of the year 9999, epoch s.
const latest = 253402300799

// Tokens mints and verifies tokens. It is safe for concurrent use.
type Tokens struct {
	config  TokensConfig
	parser  *jwt.Parser
	now     func() int64
	refused *prometheus.CounterVec

	keys       liveKeys
	changing   sync.Mutex // held while keys are changed
	configured map[string][]Key
}

// TokensConfig says what tokens are signed with; of its fields Games, Keys and
// Now are needed. Now is epoch ms by the clock that tokens live by.
type TokensConfig struct {
	Games      []string
	Configured map[string][]Key // by game; none: generated and kept in Keys
	Keys       Keys
	Now        func() int64

	Rules    map[string]TokenRules // by game
	Registry prometheus.Registerer // nil: not measured
}

// TokenRules are what a game asks of its tokens beside their signature.
type TokenRules struct {
	// Audience is what aud must name. "": a token needs no aud, and one that it
	// has must name the game or ServerAudience.
	Audience string
	MaxTTL   time.Duration // the most between iat and exp; 0: any
}

// ServerAudience is what an aud may name for every game that asks for none of
// its own, and for admins.
const ServerAudience = "laststand"

// OpenTokens opens the keys of all games and the server's own, and generates
// those that are neither configured nor kept yet.
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

// jwtClaims are the claims on the wire. Game is absent for an admin; nbf is
// kept to where an operator's login service sets it.
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

// Mint signs a token that says subject, game, role and pi, with an id of its own,
// and lasts ttl, which is counted in whole seconds from the second that has begun,
// or from IssuedAt where that is later; expiresAt is epoch ms. Errors wrap
// ErrToken for claims that no token may carry, ErrCannotSign for a game whose
// keys only verify.
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

// guestTTL is how long a guest's token of a game lasts.
func (t *Tokens) guestTTL(game string) time.Duration {
	if most := t.config.Rules[game].MaxTTL; most != 0 {
		return min(GuestTTL, most)
	}
	return GuestTTL
}

// Verify says what a token claims, if it is signed by a key of the game that it
// names (an admin's by the server's own) and in force: Leeway is given at its
// beginning, none at its end.
// Errors wrap ErrToken and can be shown to the client. It asks no store, so the
// context has nothing to bound.
func (t *Tokens) Verify(_ context.Context, token string) (Claims, error) {
	c, err := t.verify(token)
	return c, t.counted(err)
}

// counted counts a refusal by its reason.
func (t *Tokens) counted(err error) error {
	if err == nil {
		return nil
	}
	if reason := refusalOf(err); reason != "" {
		t.refused.WithLabelValues(reason).Inc()
	}
	return err
}

func (t *Tokens) verify(token string) (Claims, error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // base64 would overlook those
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
	case !rules.heard(wire.Audience, c.Game):
		return Claims{}, ErrTokenAudience
	}
	return c, nil
}

// heard reports whether a token's audience is this game.
func (r TokenRules) heard(aud []string, game string) bool {
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

// keyOf finds the key that has to have signed a token, by what it claims: a
// key of another game, or of another algorithm than its own, is never asked.
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
	if _, critical := unverified.Header["crit"]; critical { // RFC 7515, 4.1.11: we understand none
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

// algorithm is how the parser says that it takes no token of an algorithm; the
// library has no error of its own for it.
const algorithm = "signing method"

// refusal turns an error of the parser into one of ours, which says nothing of
// its inside.
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
