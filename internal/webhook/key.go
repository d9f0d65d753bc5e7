package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrInvalidKey is wrapped by each error about keys. No error contains a key.
var ErrInvalidKey = errors.New("invalid webhook key")

const (
	keyPrefix  = "whsec_"
	minKeySize = 24 // in bytes, without Base64
	maxKeySize = 64 // in bytes, without Base64
)

// Key is a secret shared with a receiver. The zero Key cannot sign.
type Key struct{ secret []byte }

// GenerateKey returns the text of a new random key, as ParseKey reads it.
func GenerateKey() string {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	return keyPrefix + base64.StdEncoding.EncodeToString(secret)
}

// ParseKey parses a key: the prefix whsec_ and 24 to 64 bytes in Base64.
func ParseKey(text string) (Key, error) {
	encoded, ok := strings.CutPrefix(text, keyPrefix)
	if !ok {
		return Key{}, fmt.Errorf("%w: it does not begin with %s", ErrInvalidKey, keyPrefix)
	}
	secret, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return Key{}, fmt.Errorf("%w: the text after %s is not Base64 with padding", ErrInvalidKey, keyPrefix)
	}
	if len(secret) < minKeySize || len(secret) > maxKeySize {
		return Key{}, fmt.Errorf("%w: it has %d bytes, not %d to %d", ErrInvalidKey, len(secret), minKeySize, maxKeySize)
	}
	return Key{secret}, nil
}

// ParseKeys parses the keys of a secret file: at least one, separated by white
// space. During a change of keys the file contains the new key and the old one.
func ParseKeys(text string) ([]Key, error) {
	var keys []Key
	for i, field := range strings.Fields(text) {
		key, err := ParseKey(field)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errNoKey
	}
	return keys, nil
}

var errNoKey = fmt.Errorf("%w: there is none", ErrInvalidKey)

// Format writes a text without the key, for all verbs.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, keyPrefix+"…") }

// sign returns the MAC of the signed content, which is id.timestamp.body.
func (k Key) sign(id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, k.secret)
	_, _ = io.WriteString(mac, id+"."+timestamp+".")
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// checkKeys returns an error if there is no key, or if a key is the zero Key.
func checkKeys(keys []Key) error {
	for _, key := range keys {
		if len(key.secret) == 0 {
			return errNoKey
		}
	}
	if len(keys) == 0 {
		return errNoKey
	}
	return nil
}
