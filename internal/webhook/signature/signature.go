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
	ErrID = errors.New("invalid webhook id")
	// ErrInvalidTimestamp means that a timestamp is malformed or not within Tolerance.
	ErrTimestamp = errors.New("invalid webhook timestamp")
	// ErrInvalidSignature means that none of the signatures was made with one of the
	// keys.
	ErrSignature = errors.New("no valid webhook signature")
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
		return Headers{}, ErrID
	}
	h := Headers{ID: id, Timestamp: strconv.FormatInt(at.Unix(), 10)}
	var list []byte
	for i, key := range keys {
		if i > 0 {
			list = append(list, ' ')
		}
		list = append(list, schemePrefix...)
		list = base64.StdEncoding.AppendEncode(list, key.mac(h, body))
	}
	h.Signature = string(list)
	return h, nil
}

// Verify checks that a message is genuine and recent; now is the receiver's time. It
// returns ErrInvalidKey if there is no key, or ErrInvalidID, ErrInvalidTimestamp or
// ErrInvalidSignature.
func Verify(keys []Key, h Headers, body []byte, now time.Time) error {
	if err := checkKeys(keys); err != nil {
		return err
	}
	if !isValidID(h.ID) {
		return ErrID
	}
	if err := checkTimestamp(h.Timestamp, now); err != nil {
		return err
	}
	for _, key := range keys {
		if hasValidSignature(h.Signature, key.mac(h, body)) {
			return nil
		}
	}
	return ErrSignature
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
		given, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil && hmac.Equal(given, mac) {
			return true
		}
	}
	return false
}

// maxIDLength is the maximum length of an id, in bytes.
const maxID = 256

// isValidID rejects a full stop, because two messages could then have the same
// signed content.
func isValidID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c >= 0x7f || c == '.' {
			return false
		}
	}
	return true
}

func checkTimestamp(text string, now time.Time) error {
	at, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return fmt.Errorf("%w: it is not a number of seconds", ErrTimestamp)
	}
	off := int64(at) - now.Unix()
	if max(off, -off) > int64(Tolerance/time.Second) {
		return fmt.Errorf("%w: it differs by %d s from the receiver's time", ErrTimestamp, off)
	}
	return nil
}
