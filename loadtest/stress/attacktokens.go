package stress

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"laststand/internal/testenv"
)

// This is the second game of the attacked server, in which bots play.
const (
	arcade        = "arcade"
	arcadeSecret  = "a secret that only the arcade knows of" // its key
	arcadeLimitMS = 2500                                     // for an answer
)

// edKey is the second key pair of demo. The server has the public key.
var edKey = ed25519.NewKeyFromSeed([]byte("a seed of thirty-two characters."))

// edPublic returns the public key in the format of the server's file.
func edPublic() []byte {
	der, err := x509.MarshalPKIXPublicKey(edKey.Public())
	if err != nil {
		panic(err) // an Ed25519 key always encodes
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// hostileLimitMS is the time limit of honest players for an answer.
const hostileLimitMS = 5000

// hostileSettings returns a configuration of the attacked server. Its matches are quick. limits
// are YAML in braces; a limit that they do not name keeps its default.
func hostileSettings(limits string) string {
	return fmt.Sprintf(`games:
  demo:
    %s, {id: ed, alg: EdDSA, secret_file: ed.pem}]
    duel: {questions: 6, countdown_ms: 200, reveal_ms: 200, time_limit_ms: %d, bot_after_ms: 0, pair_limit_per_day: 0}
    arena: {countdown_ms: 300, reveal_ms: 300, time_limit_ms: %d, team_lockout_ms: 0}
  %s:
    keys: [{id: arcade, alg: HS256, secret_file: arcade.key}]
    duel: {questions: 4, countdown_ms: 700, reveal_ms: 400, time_limit_ms: %d, bot_after_ms: 0, pair_limit_per_day: 0}
limits: %s
`, strings.TrimSuffix(testenv.KeysYAML, "]"), hostileLimitMS, hostileLimitMS, arcade, arcadeLimitMS, limits)
}

// hostileFiles returns the files that hostileSettings names, without those of package testenv.
func hostileFiles() map[string][]byte {
	return map[string][]byte{"ed.pem": edPublic(), "arcade.key": []byte(arcadeSecret)}
}

type object = map[string]any

// with returns a copy of o with some fields set. A nil field is removed.
func with(o object, fields object) object {
	o = maps.Clone(o)
	for name, value := range fields {
		o[name] = value
		if value == nil {
			delete(o, name)
		}
	}
	return o
}

func tokenOf(method jwt.SigningMethod, header, claims object) *jwt.Token {
	return &jwt.Token{Method: method, Header: header, Claims: jwt.MapClaims(claims)}
}

// unsigned returns the header and the claims of a token.
func unsigned(header, claims object) string {
	text, _ := tokenOf(nil, header, claims).SigningString() // texts and numbers always encode
	return text
}

// signed returns a token signed by HMAC with the given key, whatever its header says.
func signed(header, claims object, key []byte) string {
	text, _ := tokenOf(jwt.SigningMethodHS256, header, claims).SignedString(key)
	return text
}

func signedByEd(header, claims object) string {
	text, _ := tokenOf(jwt.SigningMethodEdDSA, header, claims).SignedString(edKey)
	return text
}

func playerClaims(game, sub string) object {
	now := time.Now()
	return object{"sub": sub, "game": game, "role": "player", "iat": now.Unix() - 1, "exp": now.Add(time.Hour).Unix()}
}

func headerOf(alg, kid string) object { return object{"alg": alg, "typ": "JWT", "kid": kid} }

// arcadeToken returns a good token of the arcade.
func arcadeToken(sub string) string {
	return signed(headerOf("HS256", "arcade"), playerClaims(arcade, sub), []byte(arcadeSecret))
}

func pad(n int) string { return strings.Repeat("a", n) }
