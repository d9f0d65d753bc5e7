package identity

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The algorithms of tokens.
const (
	HS256 = "HS256" // HMAC with SHA-256 (RFC 7518)
	EdDSA = "EdDSA" // Ed25519 (RFC 8037)
)

// minSecretBytes is the length of the shortest secret of HS256. RFC 7518, section 3.2,
// requires that a secret is at least as long as the hash.
const minSecretBytes = 32

// SigningDelay is how long a new stored key only verifies tokens. After the delay it also
// signs them. By then every node has read the key.
const SigningDelay = 10 * time.Second

// Key signs and verifies tokens.
type Key struct {
	ID  string
	Alg string // HS256 or EdDSA
	// Secret is the shared secret of HS256. For EdDSA it is PEM: a PKIX public key,
	// which only verifies, or a PKCS #8 private key.
	Secret    []byte
	CreatedAt int64 // epoch ms by the store's clock; 0 for a configured key
}

// ReadKey makes a key of the content of a configured key file. It ignores one trailing
// newline. Its error says what is wrong with the file.
func ReadKey(id, alg string, file []byte) (Key, error) {
	k := Key{ID: id, Alg: alg, Secret: bytes.Clone(bytes.TrimSuffix(file, []byte("\n")))}
	_, err := k.parse()
	return k, err
}

func generateKey() Key {
	secret := make([]byte, minSecretBytes)
	rand.Read(secret) // never fails
	return Key{ID: "k_" + rand.Text()[:12], Alg: HS256, Secret: secret}
}

// parsedKey is a key in the form that the JWT library uses.
type parsedKey struct {
	Key
	method             jwt.SigningMethod
	verifyKey, signKey any // signKey is nil if the key can only verify
}

// parse checks the key. Its error names the key.
func (k Key) parse() (parsedKey, error) {
	parsed, err := k.parseSecret()
	if err == nil && !ValidID(k.ID) {
		err = errors.New("its id must be 1 to 64 of A-Z a-z 0-9 _ . : -")
	}
	if err != nil {
		return parsedKey{}, fmt.Errorf("key %q: %w", k.ID, err)
	}
	parsed.Key = k
	return parsed, nil
}

// parseSecret checks Secret and makes the keys of the JWT library from it.
func (k Key) parseSecret() (parsedKey, error) {
	switch k.Alg {
	case HS256:
		if containsPublicKey(k.Secret) {
			return parsedKey{}, fmt.Errorf("a key pair or certificate cannot be the secret of HS256, because others know its public part; use alg: %s, or a secret such as `openssl rand -hex 32` prints", EdDSA)
		}
		if n := len(k.Secret); n < minSecretBytes {
			return parsedKey{}, fmt.Errorf("a secret of %d bytes; HS256 needs %d or more, such as `openssl rand -hex 32` prints", n, minSecretBytes)
		}
		return parsedKey{method: jwt.SigningMethodHS256, verifyKey: k.Secret, signKey: k.Secret}, nil
	case EdDSA:
		return k.parsePEM()
	}
	return parsedKey{}, fmt.Errorf("unknown alg %q: %s or %s", k.Alg, HS256, EdDSA)
}

// containsPublicKey returns true if others may know the secret, because it is or contains
// public data. That is a PEM block anywhere, an OpenSSH public key, or a public key or
// certificate in DER or in base64 of DER.
func containsPublicKey(secret []byte) bool {
	text := bytes.TrimSpace(bytes.TrimPrefix(secret, []byte("\xef\xbb\xbf")))
	if bytes.Contains(text, []byte("-----BEGIN")) || bytes.HasPrefix(text, []byte("ssh-")) || bytes.HasPrefix(text, []byte("ecdsa-")) {
		return true
	}
	base64Text := bytes.Join(bytes.Fields(text), nil)
	der := make([]byte, base64.StdEncoding.DecodedLen(len(base64Text)))
	n, _ := base64.StdEncoding.Decode(der, base64Text)
	return isPublicKeyDER(secret) || isPublicKeyDER(der[:n])
}

func isPublicKeyDER(der []byte) bool {
	if _, err := x509.ParsePKIXPublicKey(der); err == nil {
		return true
	}
	_, err := x509.ParseCertificate(der)
	return err == nil
}

func (k Key) parsePEM() (parsedKey, error) {
	block, rest := pem.Decode(k.Secret)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return parsedKey{}, errors.New("not one PEM block; EdDSA needs a public key (PKIX) or a private one (PKCS #8), such as `openssl genpkey -algorithm ed25519` makes")
	}
	key := parsedKey{method: jwt.SigningMethodEdDSA}
	private, err := jwt.ParseEdPrivateKeyFromPEM(k.Secret)
	if err == nil {
		key.signKey, key.verifyKey = private, private.(ed25519.PrivateKey).Public()
		return key, nil
	}
	if block.Type == "PUBLIC KEY" {
		key.verifyKey, err = jwt.ParseEdPublicKeyFromPEM(k.Secret)
	}
	if err != nil {
		return parsedKey{}, fmt.Errorf("the PEM block %q cannot be read; EdDSA needs PUBLIC KEY or PRIVATE KEY of Ed25519: %w", block.Type, err)
	}
	return key, nil
}

// Keys stores generated keys per game. The game "" stands for the server's own keys.
type Keys interface {
	// Keys returns the keys of a game, oldest first.
	Keys(ctx context.Context, game string) ([]Key, error)
	// AddKeyIfNone adds a key if the game has none. If several nodes call it at the
	// same time, one key is stored, and all nodes read the same keys afterwards.
	AddKeyIfNone(ctx context.Context, game string, key Key) error
	// AddKey adds one more key. It returns ErrTooManyKeys at the limit.
	AddKey(ctx context.Context, game string, key Key) error
	// RetireKey deletes a key. Errors are ErrNoKey, and ErrKeyInUse if no other key has
	// been stored for at least minAgeMS milliseconds.
	RetireKey(ctx context.Context, game, id string, minAgeMS int64) error
}

// serverKeys is the game name under which the server's own keys are stored.
const serverKeys = ""

// keyring has the keys of each game, in order of preference for signing. The first key
// that can sign, and is past SigningDelay, signs. A keyring that is in use never changes.
type keyring map[string][]parsedKey

// loadKeys returns the keys of each game and of the server. A game with configured keys
// uses only those. For another game, and for the server, it reads the stored keys, and
// generates a key if there is none.
func loadKeys(ctx context.Context, games []string, configured map[string][]Key, store Keys) (keyring, error) {
	ring := keyring{}
	for _, game := range append([]string{serverKeys}, games...) {
		keys, err := configured[game], error(nil)
		if game == serverKeys || len(keys) == 0 {
			keys, err = StoredKeys(ctx, store, game, generateKey)
			keys = slices.Clone(keys)
			slices.Reverse(keys) // the newest one signs
		}
		if err == nil {
			err = ring.parseAndAdd(game, keys)
		}
		if err != nil {
			return nil, fmt.Errorf("identity: keys of %q: %w", game, err)
		}
	}
	return ring, nil
}

// StoredKeys returns the stored keys of a game, oldest first. If the game has none, it stores a
// generated one.
func StoredKeys(ctx context.Context, store Keys, game string, generate func() Key) ([]Key, error) {
	keys, err := store.Keys(ctx, game)
	if err == nil && len(keys) == 0 {
		if err = store.AddKeyIfNone(ctx, game, generate()); err == nil {
			keys, err = store.Keys(ctx, game)
		}
	}
	return keys, err
}

func (r keyring) parseAndAdd(game string, keys []Key) error {
	for _, key := range keys {
		parsed, err := key.parse()
		if err != nil {
			return err
		}
		if _, exists := r.find(game, key.ID); exists {
			return fmt.Errorf("key %q is there twice", key.ID)
		}
		r[game] = append(r[game], parsed)
	}
	return nil
}

// has returns true if the keyring has keys for the game. It returns false for serverKeys,
// which is not a game.
func (r keyring) has(game string) bool {
	return game != serverKeys && len(r[game]) > 0
}

func (r keyring) find(game, id string) (parsedKey, bool) {
	i := slices.IndexFunc(r[game], func(key parsedKey) bool { return key.ID == id })
	if i < 0 {
		return parsedKey{}, false
	}
	return r[game][i], true
}

// signingKey returns the key that signs at a time, in epoch ms. If all stored keys are
// younger than SigningDelay, the oldest one signs. The error wraps ErrCannotSign.
func (r keyring) signingKey(game string, now int64) (parsedKey, error) {
	var oldest parsedKey
	for _, key := range r[game] {
		if key.signKey == nil {
			continue
		}
		if key.CreatedAt == 0 || key.CreatedAt+SigningDelay.Milliseconds() <= now {
			return key, nil
		}
		oldest = key
	}
	if oldest.signKey != nil {
		return oldest, nil
	}
	return parsedKey{}, fmt.Errorf("%w: %q has public keys only; mint its tokens where the private key is", ErrCannotSign, game)
}
