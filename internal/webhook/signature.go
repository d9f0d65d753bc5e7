package webhook

import (
	"encoding/base64"
	"errors"
	"strconv"
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
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	if !isValidID(id) {
		return nil, ErrInvalidID
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)
	var signatures []byte
	for i, key := range keys {
		if i > 0 {
			signatures = append(signatures, ' ')
		}
		signatures = append(signatures, schemePrefix...)
		signatures = base64.StdEncoding.AppendEncode(signatures, key.sign(id, timestamp, body))
	}
	return map[string]string{HeaderID: id, HeaderTimestamp: timestamp, HeaderSignature: string(signatures)}, nil
}

// maxIDLength is the maximum length of an id, in bytes.
const maxIDLength = 256

// isValidID rejects a full stop, because two messages could then have the same
// signed content.
func isValidID(id string) bool {
	if id == "" || len(id) > maxIDLength {
		return false
	}
	for _, char := range []byte(id) {
		if char <= ' ' || char >= 0x7f || char == '.' {
			return false
		}
	}
	return true
}
