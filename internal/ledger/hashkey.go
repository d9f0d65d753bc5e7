package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// hashKey is the key of the hashes by which the ledger remembers erased subjects.
type hashKey []byte

// hashSubject returns the text that replaces an erased subject. It starts with #, so it is no
// valid id. Without the key it does not reveal the subject.
func (k hashKey) hashSubject(game, subject string) string {
	return "#" + base64.RawURLEncoding.EncodeToString(k.mac(game + "\x00" + subject)[:18])
}

func (k hashKey) mac(text string) []byte {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// DeriveKey derives a key for a purpose from the ledger's own key. All nodes of a ledger
// get the same key. It cannot be computed without the ledger.
func (l *Ledger) DeriveKey(purpose string) []byte {
	return l.hashKey.mac("key for \x00" + purpose) // never the input of hashSubject, because a game's name has no space
}
