package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"laststand/internal/eventq"
)

// These errors say why a behaviour cannot be reported.
var (
	errBody    = errors.New("it is no behaviour")
	errType    = errors.New("only online and offline are reported to the NPPA: leave other types out")
	errSession = errors.New("a session is needed, the same in online and offline: send one")
	errPI      = errors.New("a verified player needs the pi that the NPPA has given, 38 letters and digits: send it, or wait for it")
	errGuest   = errors.New("a guest needs a device or a player: send one")
	errAccount = errors.New("the account is neither verified nor guest: send one of them")
	errStale   = errors.New("it is over 3 minutes old")
)

// freshMS is the age (ms) at which a record is too old when its report is signed.
const freshMS = 180_000

// These are the values of a record. The lengths are those of session and device
// ids, and of a PI.
const (
	modeOffline, modeOnline       = 0, 1
	accountVerified, accountGuest = 0, 2
	idLength, piLength            = 32, 38
)

// record is a behaviour in the form of the report.
type record struct {
	No      int    `json:"no"`
	Session string `json:"si"`
	Mode    int    `json:"bt"`
	At      int64  `json:"ot"` // epoch s
	Account int    `json:"ct"`
	Device  string `json:"di,omitempty"` // a guest's
	PI      string `json:"pi,omitempty"` // a verified player's

	position int // in the batch
}

func check(b eventq.Behaviour) error {
	switch {
	case b.Type != eventq.Online && b.Type != eventq.Offline:
		return errType
	case b.Session == "":
		return errSession
	case b.Account == eventq.Verified && !isPIWellFormed(b.PI):
		return errPI
	case b.Account == eventq.Guest && b.Device == "" && b.Player == "":
		return errGuest
	case b.Account != eventq.Verified && b.Account != eventq.Guest:
		return errAccount
	}
	return nil
}

// isPIWellFormed does not check the meaning of the characters; the far side does.
func isPIWellFormed(pi string) bool {
	isOther := func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'z') }
	return len(pi) == piLength && !strings.ContainsFunc(strings.ToLower(pi), isOther)
}

// newRecord returns the record of an item at an instant, without its number. The
// far side rejects its own current second. So a record whose clock is ahead gets
// the second before.
func newRecord(item eventq.Item, now int64) (record, error) {
	var b eventq.Behaviour
	if err := json.Unmarshal(item.Body, &b); err != nil {
		return record{}, errBody
	}
	if err := check(b); err != nil {
		return record{}, err
	}
	r := record{Session: session(b.Session), Mode: modeOffline, At: min(item.At, now-1) / 1000, Account: accountVerified}
	if now-r.At*1000 >= freshMS {
		return record{}, errStale
	}
	if b.Type == eventq.Online {
		r.Mode = modeOnline
	}
	if b.Account == eventq.Verified {
		r.PI = strings.ToLower(b.PI)
		return r, nil
	}
	r.Account, r.Device = accountGuest, device(b)
	return r, nil
}

func device(b eventq.Behaviour) string {
	if b.Device == "" {
		return digest("player " + b.Player)
	}
	return fitID(b.Device)
}

// session returns an id of 32 characters unchanged, and a hash of any other id,
// because two padded ids could be equal.
func session(id string) string {
	if len(id) == idLength {
		return fitID(id)
	}
	return digest(id)
}

// fitID makes a text 32 characters long, always in the same way. It pads a shorter
// text with zeros in front. It hashes a text that is longer or not plain ASCII.
func fitID(text string) string {
	isOther := func(c rune) bool { return c <= ' ' || c > '~' }
	if len(text) > idLength || strings.ContainsFunc(text, isOther) {
		return digest(text)
	}
	return strings.Repeat("0", idLength-len(text)) + text
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:idLength/2])
}
