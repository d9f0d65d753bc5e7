package signature

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The names of the HTTP headers.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Tolerance is how much a timestamp may differ from the receiver's time, in both
// directions. It limits replays.
const Tolerance = 5 * time.Minute

var (
	// ErrInvalidID means that an id is empty, too long, or contains a full stop,
	// white space or a character that is not ASCII.
	ErrInvalidID = errors.New("invalid webhook id")
	// ErrInvalidTimestamp means that a timestamp is malformed or not within Tolerance.
	ErrInvalidTimestamp = errors.New("invalid webhook timestamp")
	// ErrInvalidSignature means that none of the signatures was made with one of the
	// keys.
	ErrInvalidSignature = errors.New("no valid webhook signature")
)

// Headers are the values of a message's HTTP headers.
type Headers struct {
	ID        string // of the message, the same for all retries: a receiver drops repeats
	Timestamp string // of the attempt, in Unix seconds
	Signature string // one or more signatures, separated by spaces
}

// Sign signs a message with all keys. A receiver that knows one of them accepts the
// message. It returns ErrInvalidKey if there is no key, or ErrInvalidID.
func Sign(keys []Key, id string, at time.Time, body []byte) (Headers, error) {
	if err := checkKeys(keys); err != nil {
		return Headers{}, err
	}
	if !isValidID(id) {
		return Headers{}, ErrInvalidID
	}
	headers := Headers{ID: id, Timestamp: strconv.FormatInt(at.Unix(), 10)}
	var signatures []byte
	for i, key := range keys {
		if i > 0 {
			signatures = append(signatures, ' ')
		}
		signatures = append(signatures, schemePrefix...)
		signatures = base64.StdEncoding.AppendEncode(signatures, key.sign(headers, body))
	}
	headers.Signature = string(signatures)
	return headers, nil
}

// Verify checks that a message is genuine and recent; now is the receiver's time. It
// returns ErrInvalidKey if there is no key, or ErrInvalidID, ErrInvalidTimestamp or
// ErrInvalidSignature.
func Verify(keys []Key, headers Headers, body []byte, now time.Time) error {
	if err := checkKeys(keys); err != nil {
		return err
	}
	if !isValidID(headers.ID) {
		return ErrInvalidID
	}
	if err := checkTimestamp(headers.Timestamp, now); err != nil {
		return err
	}
	for _, key := range keys {
		if hasValidSignature(headers.Signature, key.sign(headers, body)) {
			return nil
		}
	}
	return ErrInvalidSignature
}

// schemePrefix marks a signature of the symmetric scheme. Verify ignores other
// signatures.
const schemePrefix = "v1,"

// hasValidSignature returns true if one of the signatures is the MAC. It compares in
// constant time, so that the duration does not reveal how much of a guess was right.
func hasValidSignature(signatures string, mac []byte) bool {
	for signature := range strings.SplitSeq(signatures, " ") {
		encoded, ok := strings.CutPrefix(signature, schemePrefix)
		if !ok {
			continue
		}
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil && hmac.Equal(decoded, mac) {
			return true
		}
	}
	return false
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

func checkTimestamp(text string, now time.Time) error {
	seconds, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return fmt.Errorf("%w: it is not a number of seconds", ErrInvalidTimestamp)
	}
	difference := int64(seconds) - now.Unix()
	if max(difference, -difference) > int64(Tolerance/time.Second) {
		return fmt.Errorf("%w: it differs by %d s from the receiver's time", ErrInvalidTimestamp, difference)
	}
	return nil
}
