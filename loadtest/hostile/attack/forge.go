package attack

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"hash"
	"maps"
	"strings"
	"time"

	"laststand/loadtest/harness"
)

// The second game of the attacked server, where bots play, and its key.
const (
	Arcade       = "arcade"
	arcadeSecret = "a secret that only the arcade knows of"
)

// edKey is the pair of demo's second key, of which the server has the public
// half.
var edKey = ed25519.NewKeyFromSeed([]byte("a seed of thirty-two characters."))

// edPublic is it as the server's file.
func edPublic() []byte {
	der, err := x509.MarshalPKIXPublicKey(edKey.Public())
	if err != nil {
		panic(err) // of an Ed25519 key it always can
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// Games are the keys of the attacked server's games, by game, as settings; Files
// are what they name.
var Games = map[string]string{
	"demo": strings.TrimSuffix(harness.KeysYAML, "]") + ", {id: ed, alg: EdDSA, secret_file: ed.pem}]",
	Arcade: "keys: [{id: arcade, alg: HS256, secret_file: arcade.key}]",
}

// Files are the files that Games name besides those of package harness.
func Files() map[string][]byte {
	return map[string][]byte{"ed.pem": edPublic(), "arcade.key": []byte(arcadeSecret)}
}

// object is a JSON object.
type object = map[string]any

// with is an object with some fields set, and those that are nil left out.
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

func segment(v any) string {
	raw, _ := json.Marshal(v) // of texts and numbers
	return base64.RawURLEncoding.EncodeToString(raw)
}

func unsigned(header, claims object) string { return segment(header) + "." + segment(claims) }

// signed is a token by HMAC with a key.
func signed(header, claims object, key []byte) string {
	sum := sha256.New
	switch header["alg"] {
	case "HS384":
		sum = sha512.New384
	case "HS512":
		sum = sha512.New
	}
	return macOf(unsigned(header, claims), sum, key)
}

func macOf(text string, sum func() hash.Hash, key []byte) string {
	mac := hmac.New(sum, key)
	mac.Write([]byte(text)) // it never fails
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func signedByEd(header, claims object) string {
	text := unsigned(header, claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(edKey, []byte(text)))
}

// playerClaims are good ones.
func playerClaims(game, sub string) object {
	now := time.Now()
	return object{"sub": sub, "game": game, "role": "player", "iat": now.Unix() - 1, "exp": now.Add(time.Hour).Unix()}
}

// headerOf is a good one.
func headerOf(alg, kid string) object { return object{"alg": alg, "typ": "JWT", "kid": kid} }

// arcadeToken is a good token of the arcade.
func arcadeToken(sub string) string {
	return signed(headerOf("HS256", "arcade"), playerClaims(Arcade, sub), []byte(arcadeSecret))
}
