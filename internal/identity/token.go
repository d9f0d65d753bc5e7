package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// maxTokenBytes is the length of the longest token: it must fit a websocket frame.
const maxTokenBytes = 3 << 10

// maxExpirySeconds is the highest value of exp: the last second of the year 9999, in epoch
// seconds.
const maxExpirySeconds = 253402300799

// Tokens issues and verifies tokens. It is safe for concurrent use.
type Tokens struct {
	config   TokensConfig
	parser   *jwt.Parser
	now      func() int64
	refusals *prometheus.CounterVec

	current    atomic.Pointer[keyring] // the keys in use; the server can replace them while it runs
	changeMu   sync.Mutex              // held while keys change
	configured map[string][]Key        // by game; guarded by changeMu, replaced as a whole
}

// TokensConfig configures Tokens. Games, Keys and Now are required.
type TokensConfig struct {
	Games      []string
	Configured map[string][]Key // configured keys by game; other games have generated keys
	Keys       Keys             // stores the generated keys
	Now        func() int64     // the clock for iat and exp, epoch ms

	Rules    map[string]TokenRules // by game
	Registry prometheus.Registerer // nil: no metrics
}

// OpenTokens reads the keys of all games and the server's own. It generates and stores a
// key for each game that has neither configured nor stored keys.
func OpenTokens(ctx context.Context, c TokensConfig) (*Tokens, error) {
	keys, err := loadKeys(ctx, c.Games, c.Configured, c.Keys)
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
	t := &Tokens{config: c, parser: parser, now: c.Now, refusals: newRefusalCounter(c.Registry), configured: c.Configured}
	t.current.Store(&keys)
	return t, nil
}

func (t *Tokens) keys() keyring { return *t.current.Load() }

// jwtClaims are the claims as they are encoded in a token. Game is absent for an admin. The
// parser checks nbf if an operator's login service sets it.
type jwtClaims struct {
	Game string `json:"game,omitempty"`
	Role Role   `json:"role"`
	PI   string `json:"pi,omitempty"`
	jwt.RegisteredClaims
}

func (c jwtClaims) claims() Claims {
	return Claims{Subject: c.Subject, Game: c.Game, Role: c.Role, PI: c.PI, TokenID: c.ID}
}

// Mint signs a token with Subject, Game, Role and PI of the claims, and a new id. The token
// is valid for ttl, in whole seconds from the current second, or from IssuedAt if that is
// later. expiresAt is in epoch ms. Errors wrap ErrToken for claims that no token may have,
// and ErrCannotSign for a game whose keys only verify.
func (t *Tokens) Mint(claims Claims, ttl time.Duration) (token string, expiresAt int64, err error) {
	if err := claims.validate(); err != nil {
		return "", 0, err
	}
	keys, rules := t.keys(), t.config.Rules[claims.Game]
	switch {
	case claims.Role != RoleAdmin && !keys.has(claims.Game):
		return "", 0, refuseGame(claims.Game)
	case ttl < time.Second:
		return "", 0, fmt.Errorf("identity: token lifetime %v is too short; use 1 s or more", ttl)
	}
	if err := rules.checkLifetime(ttl, claims.Game); err != nil {
		return "", 0, err
	}
	key, err := keys.signingKey(claims.Game, t.now())
	if err != nil {
		return "", 0, err
	}
	iat := jwt.NewNumericDate(time.UnixMilli(max(t.now(), claims.IssuedAt)))
	exp := jwt.NewNumericDate(iat.Add(ttl))
	unsigned := jwt.NewWithClaims(key.method, jwtClaims{claims.Game, claims.Role, claims.PI, jwt.RegisteredClaims{
		Subject: claims.Subject, ID: rand.Text(), Audience: rules.audience(), IssuedAt: iat, ExpiresAt: exp,
	}})
	unsigned.Header["kid"] = key.ID
	if token, err = unsigned.SignedString(key.signKey); err != nil {
		return "", 0, fmt.Errorf("identity: sign: %w", err)
	}
	return token, exp.UnixMilli(), nil
}

func (t *Tokens) guestTTL(game string) time.Duration {
	if maxTTL := t.config.Rules[game].MaxTTL; maxTTL != 0 {
		return min(GuestTTL, maxTTL)
	}
	return GuestTTL
}

// Verify returns the claims of a valid token. A key of the token's game must have signed
// it; for an admin's token, a key of the server. Leeway applies to iat and nbf, not to exp.
// Errors wrap ErrToken, and their texts are for clients. Verify reads only this node's
// memory and ignores the context.
func (t *Tokens) Verify(_ context.Context, token string) (Claims, error) {
	claims, err := t.parseAndVerify(token)
	return claims, t.countRefusal(err)
}

// countRefusal counts err by its reason if it is a refusal. It returns err.
func (t *Tokens) countRefusal(err error) error {
	if reason, ok := errors.AsType[*refusal](err); ok {
		t.refusals.WithLabelValues(reason.label).Inc()
	}
	return err
}

// parseAndVerify does the work of Verify, without counting refusals.
func (t *Tokens) parseAndVerify(token string) (Claims, error) {
	if len(token) > maxTokenBytes || strings.ContainsAny(token, "\r\n") { // base64 decoding would skip these characters
		return Claims{}, ErrTokenMalformed
	}
	var wire jwtClaims
	parsed, err := t.parser.ParseWithClaims(token, &wire, t.verificationKey)
	if err != nil {
		return Claims{}, mapParserError(err)
	}
	if wire.IssuedAt == nil || wire.IssuedAt.Unix() < 0 {
		return Claims{}, ErrTokenMalformed
	}
	if wire.ExpiresAt.Unix() > maxExpirySeconds {
		return Claims{}, refuse(ErrTokenMalformed, "exp must be in seconds")
	}
	claims := wire.claims()
	claims.KeyID, _ = parsed.Header["kid"].(string)
	claims.IssuedAt, claims.ExpiresAt = wire.IssuedAt.UnixMilli(), wire.ExpiresAt.UnixMilli()
	if t.now() >= claims.ExpiresAt {
		return Claims{}, ErrTokenExpired
	}
	rules := t.config.Rules[claims.Game]
	if err := rules.checkLifetime(wire.ExpiresAt.Sub(wire.IssuedAt.Time), claims.Game); err != nil {
		return Claims{}, err
	}
	if err := rules.checkAudience(wire.Audience, claims.Game); err != nil {
		return Claims{}, err
	}
	return claims, nil
}

// verificationKey returns the key to verify a token with: the key of the token's game with the id in
// the header kid. It never returns a key of another game, or of another algorithm.
func (t *Tokens) verificationKey(unverified *jwt.Token) (any, error) {
	wire, ok := unverified.Claims.(*jwtClaims)
	if !ok {
		return nil, ErrTokenMalformed
	}
	claims := wire.claims()
	if err := claims.validate(); err != nil {
		return nil, err
	}
	keys := t.keys()
	if claims.Role != RoleAdmin && !keys.has(claims.Game) {
		return nil, refuseGame(claims.Game)
	}
	if _, critical := unverified.Header["crit"]; critical { // RFC 7515, 4.1.11: this program supports no critical header
		return nil, ErrTokenMalformed
	}
	id, ok := unverified.Header["kid"].(string)
	if !ok || id == "" {
		return nil, ErrTokenNoKey
	}
	key, found := keys.find(claims.Game, id)
	if !found {
		return nil, ErrTokenKey
	}
	if key.Alg != unverified.Method.Alg() {
		return nil, ErrTokenAlg
	}
	return key.verifyKey, nil
}

// unsupportedAlgorithmText is part of the parser's error text for an algorithm that it does
// not accept. The library has no error value for this error.
const unsupportedAlgorithmText = "signing method"

// mapParserError maps an error of the parser to an error of this package. It keeps a refusal of
// verificationKey, and drops the details of other errors.
func mapParserError(err error) error {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused
	}
	switch {
	case strings.Contains(err.Error(), unsupportedAlgorithmText):
		return ErrTokenAlg
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return ErrTokenSignature
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return ErrTokenNoExpiry
	case errors.Is(err, jwt.ErrTokenExpired):
		return ErrTokenExpired
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued), errors.Is(err, jwt.ErrTokenNotValidYet):
		return ErrTokenNotYetValid
	}
	return ErrTokenMalformed
}
