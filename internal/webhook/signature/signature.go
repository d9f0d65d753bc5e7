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

// These are the names of the headers.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Tolerance is how far a timestamp may differ from now, either way. It limits
// replays.
const Tolerance = 5 * time.Minute

var (
	// ErrID says that an id is empty, too long, or contains a full stop, white
	// space or a character that is not ASCII.
	ErrID = errors.New("invalid webhook id")
	// ErrTimestamp says that a timestamp is invalid, or not within Tolerance.
	ErrTimestamp = errors.New("invalid webhook timestamp")
	// ErrSignature says that no signature was made with any of the keys.
	ErrSignature = errors.New("no valid webhook signature")
)

// Headers are the values of a message's headers.
type Headers struct {
	ID        string // of the message, the same for all retries: a receiver drops repeats
	Timestamp string // of the attempt, in Unix seconds
	Signature string // one or more, spaces between them
}

// Sign signs a message with every key. A receiver that knows any of them accepts
// it. It returns ErrKey if there is no key, or ErrID.
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

// Verify checks that a message is genuine and recent. It returns ErrKey if there
// is no key, or ErrID, ErrTimestamp or ErrSignature.
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

// hasValidSignature looks for a MAC among signatures, in constant time: the
// duration does not show how much of a guess was right.
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

// maxID bounds an id, in bytes.
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
		return fmt.Errorf("%w: it is no number of seconds", ErrTimestamp)
	}
	off := int64(at) - now.Unix()
	if max(off, -off) > int64(Tolerance/time.Second) {
		return fmt.Errorf("%w: it is %d s off", ErrTimestamp, off)
	}
	return nil
}
