package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// The names of the HTTP headers of a signed message, by Standard Webhooks 1.0.0
// (standard-webhooks/standard-webhooks, spec/standard-webhooks.md).
const (
	HeaderID        = "webhook-id"        // of the message, the same for all retries: a receiver drops repeats
	HeaderTimestamp = "webhook-timestamp" // of the attempt, in Unix seconds
	HeaderSignature = "webhook-signature" // one or more signatures, separated by spaces
)

// ErrInvalidID means that an id is empty, too long, or contains a full stop, white space
// or a character that is not ASCII.
var ErrInvalidID = errors.New("invalid webhook id")

// schemePrefix marks a signature of the symmetric scheme: HMAC-SHA256 over id, timestamp
// and body.
const schemePrefix = "v1,"

// Sign signs a message with all keys and returns its headers by name. A receiver that
// knows one of the keys accepts the message. The error is ErrInvalidKey if there is no
// key, or ErrInvalidID.
func Sign(keys []Key, id string, at time.Time, body []byte) (headers map[string]string, err error) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	var signatures []string
	for _, key := range keys {
		if len(key.secret) == 0 {
			return nil, errNoKey
		}
		signatures = append(signatures, schemePrefix+base64.StdEncoding.EncodeToString(key.sign(id, timestamp, body)))
	}
	switch {
	case len(signatures) == 0:
		return nil, errNoKey
	case id == "" || len(id) > maxIDLength || strings.ContainsFunc(id, isForbiddenInID):
		return nil, ErrInvalidID
	}
	return map[string]string{HeaderID: id, HeaderTimestamp: timestamp, HeaderSignature: strings.Join(signatures, " ")}, nil
}

// maxIDLength is the maximum length of an id, in bytes.
const maxIDLength = 256

// isForbiddenInID also rejects a full stop, because two messages could then have the same
// signed content.
func isForbiddenInID(char rune) bool { return char <= ' ' || char >= 0x7f || char == '.' }

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
