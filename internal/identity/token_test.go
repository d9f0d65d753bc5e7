package identity

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"laststand/internal/testenv"
)

var secretKey = Key{ID: "k1", Alg: HS256, Secret: bytes.Repeat([]byte("s"), 32)}

// pi is a player identifier (claim pi) from the test environment of the NPPA, China's press and publication authority.
const pi = "1fffbjzos82bs9cnyj1dna7d6d29zg4esnh99u"

// tokensWithKeys returns tokens of three issuers: a game with a shared secret and
// a public key, another game with a secret of the same id, and the server.
func tokensWithKeys(t testing.TB) (tokens *Tokens, store *fakeStore, public, private []byte) {
	t.Helper()
	public, private = newEd25519Keys(t)
	store = newStore()
	return openTestTokens(t, store, map[string][]Key{
		game:      {secretKey, {ID: "k2", Alg: EdDSA, Secret: public}},
		otherGame: {{ID: "k1", Alg: HS256, Secret: bytes.Repeat([]byte("o"), 32)}},
	}), store, public, private
}

func TestMintedTokensVerify(t *testing.T) {
	t.Parallel()
	tokens := openTestTokens(t, newStore(), nil)
	for _, claims := range []Claims{
		{Subject: "p_1", Game: game, Role: RolePlayer},
		{Subject: "p_2", Game: game, Role: RolePlayer, PI: pi},
		{Subject: "host:1", Game: otherGame, Role: RoleHost},
		{Subject: "svc", Game: game, Role: RoleService},
		{Subject: "root", Role: RoleAdmin},
	} {
		token, expiresAt, err := tokens.Mint(claims, time.Minute)
		if err != nil {
			t.Fatalf("%+v: %v", claims, err)
		}
		claims.IssuedAt, claims.ExpiresAt = start/1000*1000, start/1000*1000+secondsToMS(60)
		got, err := tokens.Verify(t.Context(), token)
		if len(got.TokenID) < 20 || got.KeyID == "" {
			t.Errorf("a token without an id or key: %+v", got)
		}
		if got.TokenID, got.KeyID = "", ""; err != nil || got != claims || expiresAt != claims.ExpiresAt {
			t.Errorf("got %+v, expires %d, %v; want %+v", got, expiresAt, err, claims)
		}
	}
}

func TestMintRefusesInvalidClaims(t *testing.T) {
	t.Parallel()
	public, _ := newEd25519Keys(t)
	tokens := openTestTokens(t, newStore(), map[string][]Key{otherGame: {{ID: "k1", Alg: EdDSA, Secret: public}}})
	tests := []struct {
		claims Claims
		ttl    time.Duration
		want   error
	}{
		{Claims{Subject: "p_1", Game: "nowhere", Role: RolePlayer}, time.Minute, ErrTokenGame},
		{Claims{Subject: "p_1", Role: RolePlayer}, time.Minute, ErrTokenGame},
		{Claims{Subject: "p_1", Game: game, Role: RoleAdmin}, time.Minute, ErrTokenGame},
		{Claims{Subject: "p_1", Game: game, Role: "king"}, time.Minute, ErrTokenRole},
		{Claims{Subject: "p 1", Game: game, Role: RolePlayer}, time.Minute, ErrTokenSubject},
		{Claims{Subject: "me", Game: game, Role: RolePlayer}, time.Minute, ErrTokenSubject},
		{Claims{Subject: "p_1", Game: game, Role: RolePlayer, PI: pi[1:]}, time.Minute, ErrTokenPI},
		{Claims{Subject: "h_1", Game: game, Role: RoleHost, PI: pi}, time.Minute, ErrTokenPI},
		{Claims{Subject: "p_1", Game: otherGame, Role: RolePlayer}, time.Minute, ErrCannotSign},
		{Claims{Subject: "p_1", Game: game, Role: RolePlayer}, 0, nil},
	}
	for _, tt := range tests {
		token, _, err := tokens.Mint(tt.claims, tt.ttl)
		if err == nil || token != "" || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.claims, err, tt.want)
		}
	}
}

// signToken signs any header and claims with any key.
func signToken(t testing.TB, method jwt.SigningMethod, key any, header, claims map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	maps.Copy(token.Header, header)
	signed := testenv.Need(token.SignedString(key))(t)
	return signed
}

func TestVerifyRefusesInvalidTokens(t *testing.T) {
	t.Parallel()
	tokens, store, public, private := tokensWithKeys(t)
	edKey := testenv.Need(jwt.ParseEdPrivateKeyFromPEM(private))(t)
	now := start / 1000
	claims := func(changes map[string]any) map[string]any {
		got := map[string]any{"sub": "p_1", "game": game, "role": "player", "iat": now, "exp": now + 60}
		maps.Copy(got, changes)
		maps.DeleteFunc(got, func(_ string, value any) bool { return value == nil })
		return got
	}
	sign := func(changes map[string]any) string {
		return signToken(t, jwt.SigningMethodHS256, secretKey.Secret, map[string]any{"kid": "k1"}, claims(changes))
	}
	kid := func(id any) map[string]any { return map[string]any{"kid": id} }
	valid := sign(nil)
	server := store.keys[""][0]
	tests := []struct {
		name, token string
		want        error // nil: accepted
	}{
		{"good", valid, nil},
		{"good by EdDSA", signToken(t, jwt.SigningMethodEdDSA, edKey, kid("k2"), claims(nil)), nil},
		{"admin by the server's key", signToken(t, jwt.SigningMethodHS256, server.Secret, kid(server.ID), claims(map[string]any{"game": nil, "role": "admin"})), nil},
		{"empty", "", ErrTokenMalformed},
		{"no JWT", "abc", ErrTokenMalformed},
		{"four parts", valid + ".x", ErrTokenMalformed},
		{"too long", valid + strings.Repeat("A", 4096), ErrTokenMalformed},
		{"cut signature", valid[:len(valid)-3], ErrTokenSignature},
		{"signature on two lines", valid[:len(valid)-3] + "\n" + valid[len(valid)-3:], ErrTokenMalformed},
		{"no signature", valid[:strings.LastIndex(valid, ".")+1], ErrTokenSignature},
		{"changed claims", swapClaims(t, valid, sign(map[string]any{"sub": "p_2"})), ErrTokenSignature},
		{"alg none", signToken(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kid("k1"), claims(nil)), ErrTokenAlg},
		{"unknown alg", base64Segment(`{"alg":"XX","kid":"k1"}`) + strings.TrimPrefix(valid, strings.Split(valid, ".")[0]), ErrTokenAlg},
		{"alg HS512 with the right secret", signToken(t, jwt.SigningMethodHS512, secretKey.Secret, kid("k1"), claims(nil)), ErrTokenAlg},
		{"public key used as a secret", signToken(t, jwt.SigningMethodHS256, public, kid("k2"), claims(nil)), ErrTokenAlg},
		{"another key's id", signToken(t, jwt.SigningMethodEdDSA, edKey, kid("k1"), claims(nil)), ErrTokenAlg},
		{"unknown key", signToken(t, jwt.SigningMethodHS256, secretKey.Secret, kid("k9"), claims(nil)), ErrTokenKey},
		{"no key id", signToken(t, jwt.SigningMethodHS256, secretKey.Secret, nil, claims(nil)), ErrTokenNoKey},
		{"empty key id", signToken(t, jwt.SigningMethodHS256, secretKey.Secret, kid(""), claims(nil)), ErrTokenNoKey},
		{"key id that is no text", signToken(t, jwt.SigningMethodHS256, secretKey.Secret, kid(1), claims(nil)), ErrTokenNoKey},
		{"critical header", signToken(t, jwt.SigningMethodHS256, secretKey.Secret, map[string]any{"kid": "k1", "crit": []string{"b64"}}, claims(nil)), ErrTokenMalformed},
		{"for another game", sign(map[string]any{"game": otherGame}), ErrTokenSignature},
		{"unknown game", sign(map[string]any{"game": "nowhere"}), ErrTokenGame},
		{"no game", sign(map[string]any{"game": nil}), ErrTokenGame},
		{"admin by a game's key", sign(map[string]any{"role": "admin"}), ErrTokenGame},
		{"admin of no game by a game's key", sign(map[string]any{"role": "admin", "game": nil}), ErrTokenSignature},
		{"player by the server's key", signToken(t, jwt.SigningMethodHS256, server.Secret, kid(server.ID), claims(nil)), ErrTokenSignature},
		{"unknown role", sign(map[string]any{"role": "king"}), ErrTokenRole},
		{"no role", sign(map[string]any{"role": nil}), ErrTokenRole},
		{"no subject", sign(map[string]any{"sub": nil}), ErrTokenSubject},
		{"subject of another alphabet", sign(map[string]any{"sub": "ä"}), ErrTokenSubject},
		{"long subject", sign(map[string]any{"sub": strings.Repeat("p", 65)}), ErrTokenSubject},
		{"reserved subject", sign(map[string]any{"sub": "me"}), ErrTokenSubject},
		{"subject that is no text", sign(map[string]any{"sub": 7}), ErrTokenMalformed},
		{"pi", sign(map[string]any{"pi": pi}), nil},
		{"empty pi", sign(map[string]any{"pi": ""}), nil},
		{"short pi", sign(map[string]any{"pi": pi[1:]}), ErrTokenPI},
		{"long pi", sign(map[string]any{"pi": pi + "0"}), ErrTokenPI},
		{"pi in upper case", sign(map[string]any{"pi": strings.ToUpper(pi)}), ErrTokenPI},
		{"pi of another alphabet", sign(map[string]any{"pi": pi[:36] + "é"}), ErrTokenPI},
		{"pi that is no text", sign(map[string]any{"pi": 7}), ErrTokenMalformed},
		{"pi of a service", sign(map[string]any{"pi": pi, "role": "service"}), ErrTokenPI},
		{"no expiry", sign(map[string]any{"exp": nil}), ErrTokenNoExpiry},
		{"expiry that is no number", sign(map[string]any{"exp": "soon"}), ErrTokenMalformed},
		{"expiry beyond all dates", sign(map[string]any{"exp": 1e15}), ErrTokenMalformed},
		{"no time of issue", sign(map[string]any{"iat": nil}), ErrTokenMalformed},
		{"issued before all dates", sign(map[string]any{"iat": -1}), ErrTokenMalformed},
		{"just expired", sign(map[string]any{"exp": now}), ErrTokenExpired},
		{"about to expire", sign(map[string]any{"exp": now + 1}), nil},
		{"expired", sign(map[string]any{"exp": now - 31}), ErrTokenExpired},
		{"issued in the future, within the leeway", sign(map[string]any{"iat": now + 30}), nil},
		{"issued in the future, beyond the leeway", sign(map[string]any{"iat": now + 32}), ErrTokenNotYetValid},
		{"audience of the game", sign(map[string]any{"aud": game}), nil},
		{"audience of the server, among others", sign(map[string]any{"aud": []string{"else", ServerAudience}}), nil},
		{"another audience", sign(map[string]any{"aud": "https://else.example"}), ErrTokenAudience},
		{"audience of another game", sign(map[string]any{"aud": otherGame}), ErrTokenAudience},
		{"audience that is no text", sign(map[string]any{"aud": 7}), ErrTokenMalformed},
		{"token id", sign(map[string]any{"jti": "t1"}), nil},
		{"token id that is no text", sign(map[string]any{"jti": 7}), ErrTokenMalformed},
		{"valid only later", sign(map[string]any{"nbf": now + 32}), ErrTokenNotYetValid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tokens.Verify(t.Context(), tt.token)
			if !errors.Is(err, tt.want) || tt.want != nil && (!errors.Is(err, ErrToken) || got != (Claims{})) {
				t.Errorf("Verify: %+v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

// swapClaims puts the claims of one token under the signature of another.
func swapClaims(t testing.TB, signed, claims string) string {
	t.Helper()
	signedParts, claimsParts := strings.Split(signed, "."), strings.Split(claims, ".")
	return signedParts[0] + "." + claimsParts[1] + "." + signedParts[2]
}

func TestConfiguredPublicKeyVerifiesWhatThePrivateOneSigns(t *testing.T) {
	t.Parallel()
	public, private := newEd25519Keys(t)
	signing := openTestTokens(t, newStore(), map[string][]Key{game: {{ID: "k1", Alg: EdDSA, Secret: private}}})
	verifying := openTestTokens(t, newStore(), map[string][]Key{game: {{ID: "k1", Alg: EdDSA, Secret: public}}})
	token, _, err := signing.Mint(Claims{Subject: "p_1", Game: game, Role: RolePlayer}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if claims, err := verifying.Verify(t.Context(), token); err != nil || claims.Subject != "p_1" {
		t.Errorf("Verify: %+v, %v", claims, err)
	}
}

// FuzzVerify checks that only signed tokens are accepted, that no token makes Verify panic, and
// that every refusal is an ErrToken.
func FuzzVerify(f *testing.F) {
	tokens, _, _, _ := tokensWithKeys(f)
	valid, _, err := tokens.Mint(Claims{Subject: "p_1", Game: game, Role: RolePlayer}, time.Minute)
	if err != nil {
		f.Fatal(err)
	}
	parts := strings.Split(valid, ".")
	f.Add(valid) // each process of the fuzzer mints its own token
	f.Add(parts[0] + "." + parts[1] + ".")
	f.Add(valid[:len(valid)-3] + "\r\n" + valid[len(valid)-3:])
	for _, header := range []string{`{"alg":"none","kid":"k1"}`, `{"alg":"HS256","kid":null}`, `null`, `[]`} {
		for _, claims := range []string{`null`, `{}`, `{"sub":"p","game":"demo","role":"player","exp":1e99,"iat":0}`} {
			f.Add(fmt.Sprintf("%s.%s.%s", base64Segment(header), base64Segment(claims), parts[2]))
		}
	}
	f.Fuzz(func(t *testing.T, token string) {
		accepted, err := tokens.Verify(t.Context(), token)
		switch {
		case err == nil && !isSigned(token):
			t.Fatalf("accepted %q as %+v", token, accepted)
		case err != nil && !errors.Is(err, ErrToken):
			t.Fatalf("%q: %v is no ErrToken", token, err)
		}
	})
}

// isSigned reports whether a token is signed with secretKey, computed step by step
// (RFC 7515, 5.1).
func isSigned(token string) bool {
	lastDot := strings.LastIndexByte(token, '.')
	if lastDot < 0 {
		return false
	}
	mac := hmac.New(sha256.New, secretKey.Secret)
	mac.Write([]byte(token[:lastDot]))
	return token[lastDot+1:] == base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func base64Segment(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
