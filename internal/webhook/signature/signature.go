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

// The names of the headers.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Tolerance is how far a timestamp may be off, either way, against replays.
const Tolerance = 5 * time.Minute

var (
	// ErrID says that an id is empty, too long, or has a full stop, white space or
	// what is not ASCII.
	ErrID = errors.New("invalid webhook id")
	// ErrTimestamp says that a timestamp is none, or not within Tolerance.
	ErrTimestamp = errors.New("invalid webhook timestamp")
	// ErrSignature says that none of the signatures is by any of the keys.
	ErrSignature = errors.New("no valid webhook signature")
)

// Headers are the values of a message's headers.
type Headers struct {
	ID        string // of the message, the same over retries: who gets it twice drops it
	Timestamp string // of the try, in Unix seconds
	Signature string // one or more, spaces between them
}

// Sign signs a message with every key, so that a receiver that knows any of
// them accepts it. Errors: ErrKey where there is no key, ErrID.
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

// Verify says whether a message is genuine and of about now. Errors: ErrKey
// where there is no key, ErrID, ErrTimestamp, ErrSignature.
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

// version marks a signature of the symmetric scheme. Others are passed over.
const schemePrefix = "v1,"

// signed finds a MAC among signatures, in a time that does not depend on how
// much of it was guessed.
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

// validID: a full stop would make two messages of the same signed content.
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
