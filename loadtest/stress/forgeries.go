package stress

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
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
	der, _ := x509.MarshalPKIXPublicKey(edKey.Public()) // an Ed25519 key always encodes
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

type object = jwt.MapClaims

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

// forge returns a token that a method signs with a key, whatever its header says.
func forge(method jwt.SigningMethod, header, claims object, key any) string {
	text, _ := (&jwt.Token{Method: method, Header: header, Claims: claims}).SignedString(key) // texts and numbers always encode
	return text
}

func unsigned(header, claims object) string {
	return forge(jwt.SigningMethodNone, header, claims, jwt.UnsafeAllowNoneSignatureType)
}

func signed(header, claims object, key []byte) string {
	return forge(jwt.SigningMethodHS256, header, claims, key)
}

func signedByEd(header, claims object) string {
	return forge(jwt.SigningMethodEdDSA, header, claims, edKey)
}

func headerOf(alg, kid string) object { return object{"alg": alg, "typ": "JWT", "kid": kid} }

// arcadeToken returns a good token of the arcade.
func arcadeToken(sub string) string {
	return signed(headerOf("HS256", "arcade"), testenv.Claims(arcade, "player", sub), []byte(arcadeSecret))
}

func pad(n int) string { return strings.Repeat("a", n) }

// forgeries returns tokens that no player owns, by name.
func forgeries() map[string]string {
	good := testenv.Claims("demo", "player", "bad_forger")
	hs, ed := headerOf("HS256", testenv.KeyID), headerOf("EdDSA", "ed")
	wrong := []byte("another secret that is long enough, too")
	token, _ := testenv.Token("player", "bad_forger") // Sign never fails on texts
	all := map[string]string{
		"a foreign key":                   signed(hs, good, wrong),
		"an empty key":                    signed(hs, good, nil),
		"alg confusion: PEM":              signed(headerOf("HS256", "ed"), good, edPublic()),
		"alg confusion: bytes":            signed(headerOf("HS256", "ed"), good, edKey.Public().(ed25519.PublicKey)),
		"alg confusion, the other's name": signed(hs, good, edPublic()),
		"EdDSA in name":                   signed(headerOf("EdDSA", testenv.KeyID), good, wrong),
		"EdDSA over a key of HMAC":        signedByEd(headerOf("EdDSA", testenv.KeyID), good),
		"HMAC in name":                    signedByEd(headerOf("HS256", "ed"), good),
		"no kid":                          signed(with(hs, object{"kid": nil}), good, wrong),
		"a kid of nobody's":               signed(with(hs, object{"kid": "none"}), good, wrong),
		"a kid that is a path":            signed(with(hs, object{"kid": "../../../../dev/null"}), good, nil),
		"a kid that is SQL":               signed(with(hs, object{"kid": "x' UNION SELECT 'a"}), good, []byte("a")),
		"a kid that is a list":            signed(with(hs, object{"kid": []string{testenv.KeyID}}), good, wrong),
		"a key of its own":                signed(with(hs, object{"jwk": object{"kty": "oct", "k": base64.RawURLEncoding.EncodeToString(wrong)}}), good, wrong),
		"a key elsewhere":                 signed(with(hs, object{"jku": "http://127.0.0.1:1/keys"}), good, wrong),
		"EdDSA by another":                signed(ed, good, wrong),
		"of the arcade, by name of demo":  signed(headerOf("HS256", "arcade"), good, []byte(arcadeSecret)),
		"of the arcade, by its own key, for a game of nobody's": signed(headerOf("HS256", "arcade"), with(good, object{"game": "nothing"}), []byte(arcadeSecret)),
	}
	for _, some := range []map[string]string{withoutKey(good), cutUp(strings.Split(token, ".")), wronglyClaimed(good)} {
		maps.Copy(all, some)
	}
	return all
}

// withoutKey returns tokens whose alg needs no key.
func withoutKey(good object) map[string]string {
	all := map[string]string{
		"no alg": unsigned(object{"kid": testenv.KeyID}, good), "alg null": unsigned(object{"alg": nil, "kid": testenv.KeyID}, good),
	}
	for _, alg := range []string{"none", "None", "NONE", "nOnE", ""} {
		header := headerOf(alg, testenv.KeyID)
		all["alg "+alg], all["alg "+alg+", signed"] = unsigned(header, good), signed(header, good, nil)
	}
	return all
}

// cutUp returns changed copies of a good token.
func cutUp(parts []string) map[string]string {
	head, claims, mac := parts[0], parts[1], parts[2]
	join := func(parts ...string) string { return strings.Join(parts, ".") }
	raw, _ := base64.RawURLEncoding.DecodeString(claims) // we encoded it
	host := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), "player", "host", 1)))
	raw, _ = base64.RawURLEncoding.DecodeString(mac) // we encoded it
	raw[0] ^= 1
	return map[string]string{
		"no signature": join(head, claims, ""), "two parts": join(head, claims), "one part": head, "nothing": "",
		"a cut signature": join(head, claims, mac[:len(mac)-4]), "a long one": join(head, claims, mac+mac),
		"a wrong bit":  join(head, claims, base64.RawURLEncoding.EncodeToString(raw)),
		"other claims": join(head, host, mac), "five parts": join(head, claims, mac, claims, mac),
		"a line's end": join(head, claims, mac[:5]+"\n"+mac[5:]), "padding": join(head, claims, mac+"="),
		"a last letter of the same meaning": join(head, claims, mac[:len(mac)-1]+sibling(mac[len(mac)-1])),
		"3.5 KiB":                           join(head, claims+pad(3500), mac), "JSON": `{"payload":"` + claims + `","signature":"` + mac + `"}`,
	}
}

// sibling returns another last letter for 32 bytes in base64 that a careless decoder
// takes for the same bytes.
func sibling(last byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, last)^1])
}

// wronglyClaimed returns tokens that the right key signs, but whose claims are not
// allowed.
func wronglyClaimed(good object) map[string]string {
	now, all := time.Now(), make(map[string]string)
	for name, fields := range map[string]object{
		"expired": {"exp": now.Add(-5 * time.Second).Unix()}, "long expired": {"exp": now.Add(-time.Hour).Unix(), "iat": now.Add(-2 * time.Hour).Unix()},
		"without an end": {"exp": nil}, "an end that is a text": {"exp": "tomorrow"}, "an end beyond time": {"exp": 1e300}, "an end below 0": {"exp": -1},
		"made in an hour": {"iat": now.Add(time.Hour).Unix()}, "good in an hour": {"nbf": now.Add(time.Hour).Unix()},
		"a game of nobody's": {"game": "nothing"}, "of another game's name": {"game": arcade}, "games": {"game": []string{"demo", arcade}},
		"an admin by the game's key": {"role": "admin"}, "an admin without a game": {"role": "admin", "game": nil}, "root": {"role": "root"},
		"no role": {"role": nil}, "roles": {"role": []string{"player", "admin"}},
		"nobody": {"sub": nil}, "an empty name": {"sub": ""}, "a long name": {"sub": pad(65)}, "a name of spaces": {"sub": "a b"}, "me": {"sub": "me"},
		"a name with NUL": {"sub": "a\x00b"}, "a name of a path": {"sub": "../admin"},
	} {
		if token, err := testenv.Sign(with(good, fields)); err == nil {
			all[name] = token
		}
	}
	return all
}

// forgeTokens tries all forgeries over HTTP and over websockets. First it checks that
// the server accepts good tokens, so that a refusal means something.
func forgeTokens(ctx context.Context, a *attacker) {
	first := &worker{a, ctx, 1}
	good := signedByEd(headerOf("EdDSA", "ed"), testenv.Claims("demo", "player", "bad_but_good"))
	for _, token := range []string{good, a.token("bad_but_good")} {
		a.violationIf(first.useToken(token).Status == http.StatusUnauthorized, "a good token was refused: %s", token)
	}
	forged := forgeries()
	maps.Copy(forged, a.Revoked)
	names := slices.Sorted(maps.Keys(forged))
	a.repeat(ctx, 32, 2*len(names), func(w *worker, n int) {
		name := names[n/2%len(names)]
		if n%2 == 0 {
			w.useForged(name, forged[name])
		} else {
			w.greetForged(name, forged[name])
		}
	})
	first.eraseAndReturn()
}

// useToken makes a request that only a player may make, and that changes nothing.
func (w *worker) useToken(token string) players.Response {
	return w.ask(players.Call{Method: "PUT", URL: w.URL + "/v1/games/demo/players/me/nickname", Body: protocol.Empty{}, Header: http.Header{"Authorization": {"Bearer " + token}}})
}

func (w *worker) useForged(name, token string) {
	if strings.ContainsAny(token, "\r\n") { // such a token cannot be a header
		return
	}
	got := w.useToken(token)
	w.violationIf(got.Status != http.StatusUnauthorized && got.Status != http.StatusForbidden && !isForNow(got.Status),
		"the token %q was taken: %d %.200s", name, got.Status, got.Body)
}

// isForNow reports whether an answer says nothing about the request: there is none, or the server
// asks for another try.
func isForNow(status int) bool {
	return status == 0 || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

func (w *worker) greetForged(name, token string) {
	if s := w.greet(token); s != nil {
		w.violation("the token %q was welcome", name)
		_ = s.Close()
	}
}

// eraseAndReturn makes a guest, erases it, and then uses its token again.
func (w *worker) eraseAndReturn() {
	var guest players.Guest
	made := w.ask(players.GuestCall(w.URL, "demo", ""))
	if made.Status != http.StatusCreated || json.Unmarshal(made.Body, &guest) != nil {
		return // the address has made too many guests
	}
	gone := w.ask(players.Call{Method: "DELETE", URL: w.URL + "/v1/games/demo/players/me", Token: guest.Token})
	if gone.Status != http.StatusNoContent {
		w.violationIf(!isForNow(gone.Status), "an erasure was answered with %d: %.200s", gone.Status, gone.Body)
		return
	}
	w.useForged("of a player who is erased", guest.Token)
	w.greetForged("of a player who is erased", guest.Token)
}
