package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// maxToken bounds a token in bytes: it must fit a websocket's frame.
const maxToken = 3 << 10

// latest bounds exp: the last instant of the year 9999, epoch s.
const latest = 253402300799

// Tokens mints and verifies tokens. It is immutable and safe for concurrent
// use.
type Tokens struct {
	keys   keyring
	parser *jwt.Parser
	now    func() int64
}

// TokensConfig says what tokens are signed with; all fields but Configured are
// needed. Now is epoch ms by the clock that tokens live by.
type TokensConfig struct {
	Games      []string
	Configured map[string][]Key // by game; none: generated and kept in Keys
	Keys       Keys
	Now        func() int64
}

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
	return &Tokens{keys: keys, parser: parser, now: c.Now}, nil
}

// jwtClaims are the claims on the wire. Game is absent for an admin; nbf is
// kept to where an operator's login service sets it.
type jwtClaims struct {
	Subject   string           `json:"sub"`
	Game      string           `json:"game,omitempty"`
	Role      Role             `json:"role"`
	PI        string           `json:"pi,omitempty"`
	IssuedAt  *jwt.NumericDate `json:"iat"`
	ExpiresAt *jwt.NumericDate `json:"exp"`
	NotBefore *jwt.NumericDate `json:"nbf,omitempty"`
}

func (c jwtClaims) GetExpirationTime() (*jwt.NumericDate, error) { return c.ExpiresAt, nil }
func (c jwtClaims) GetIssuedAt() (*jwt.NumericDate, error)       { return c.IssuedAt, nil }
func (c jwtClaims) GetNotBefore() (*jwt.NumericDate, error)      { return c.NotBefore, nil }
func (c jwtClaims) GetIssuer() (string, error)                   { return "", nil }
func (c jwtClaims) GetSubject() (string, error)                  { return c.Subject, nil }
func (c jwtClaims) GetAudience() (jwt.ClaimStrings, error)       { return nil, nil }

// Mint signs a token that says subject, game, role and pi and lasts ttl, which is
// counted in whole seconds from the second that has begun; expiresAt is epoch
// ms. Errors wrap ErrToken for claims that no token may carry, ErrCannotSign
// for a game whose keys only verify.
func (t *Tokens) Mint(c Claims, ttl time.Duration) (token string, expiresAt int64, err error) {
	if err := c.check(); err != nil {
		return "", 0, err
	}
	if c.Role != RoleAdmin && !t.keys.has(c.Game) {
		return "", 0, ErrTokenGame
	}
	if ttl < time.Second {
		return "", 0, fmt.Errorf("identity: a token of %v: it must last a second or more", ttl)
	}
	key, err := t.keys.signing(c.Game)
	if err != nil {
		return "", 0, err
	}
	iat := jwt.NewNumericDate(time.UnixMilli(t.now()))
	exp := jwt.NewNumericDate(iat.Add(ttl))
	unsigned := jwt.NewWithClaims(key.method, jwtClaims{
		Subject: c.Subject, Game: c.Game, Role: c.Role, PI: c.PI, IssuedAt: iat, ExpiresAt: exp,
	})
	unsigned.Header["kid"] = key.id
	if token, err = unsigned.SignedString(key.sign); err != nil {
		return "", 0, fmt.Errorf("identity: sign: %w", err)
	}
	return token, exp.UnixMilli(), nil
}

// Verify says what a token claims, if it is signed by a key of the game that it
// names (an admin's by the server's own) and in force: Leeway is given at its
// beginning, none at its end.
// Errors wrap ErrToken and can be shown to the client. It asks no store, so the
// context has nothing to bound.
func (t *Tokens) Verify(_ context.Context, token string) (Claims, error) {
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // base64 would overlook those
		return Claims{}, ErrTokenMalformed
	}
	var wire jwtClaims
	if _, err := t.parser.ParseWithClaims(token, &wire, t.keyOf); err != nil {
		return Claims{}, refusal(err)
	}
	if wire.IssuedAt == nil || wire.IssuedAt.Unix() < 0 || wire.ExpiresAt.Unix() > latest {
		return Claims{}, ErrTokenMalformed
	}
	c := wire.claims()
	c.IssuedAt, c.ExpiresAt = wire.IssuedAt.UnixMilli(), wire.ExpiresAt.UnixMilli()
	if t.now() >= c.ExpiresAt {
		return Claims{}, ErrTokenExpired
	}
	return c, nil
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
	if c.Role != RoleAdmin && !t.keys.has(c.Game) {
		return nil, ErrTokenGame
	}
	id, ok := unverified.Header["kid"].(string)
	if _, critical := unverified.Header["crit"]; !ok || critical { // RFC 7515, 4.1.11: we understand none
		return nil, ErrTokenMalformed
	}
	key, found := t.keys.find(c.Game, id)
	if !found || key.method.Alg() != unverified.Method.Alg() {
		return nil, ErrTokenSignature
	}
	return key.verify, nil
}

func (c jwtClaims) claims() Claims {
	return Claims{Subject: c.Subject, Game: c.Game, Role: c.Role, PI: c.PI}
}

// refusal turns an error of the parser into one of ours, which says nothing of
// its inside.
func refusal(err error) error {
	switch {
	case errors.Is(err, ErrToken):
		for _, ours := range []error{ErrTokenGame, ErrTokenRole, ErrTokenSubject, ErrTokenPI, ErrTokenSignature} {
			if errors.Is(err, ours) {
				return ours
			}
		}
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return ErrTokenSignature
	case errors.Is(err, jwt.ErrTokenExpired):
		return ErrTokenExpired
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued), errors.Is(err, jwt.ErrTokenNotValidYet):
		return ErrTokenFuture
	}
	return ErrTokenMalformed
}
