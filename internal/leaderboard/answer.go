package leaderboard

import (
	"crypto/sha256"
	"encoding/base64"
	"time"

	"laststand/internal/protocol"
)

// Answer is an encoded answer for clients: a page, a standing or a listing.
type Answer struct {
	JSON    []byte // shared; must not be changed
	ETag    string // hash of the bytes, the same on every node
	IsFinal bool   // true: about a past day, so only corrections and renames can change it
}

// EncodeAnswer encodes an answer as JSON. It panics if JSON cannot represent the answer.
func EncodeAnswer(answer any) Answer {
	content := append(protocol.EncodeJSON(answer), '\n')
	sum := sha256.Sum256(content)
	return Answer{JSON: content, ETag: base64.RawURLEncoding.EncodeToString(sum[:12])}
}

// dayEndMargin is added to the end of a day in UTC. After that time, the day has ended in
// all time zones, and in the ledger.
const dayEndMargin = 13 * time.Hour

// isPastDay reports whether a civil date (YYYY-MM-DD) is past in all time zones. now is in
// epoch ms. It returns false for an empty or invalid date.
func isPastDay(date string, now int64) bool {
	day, err := time.Parse(time.DateOnly, date)
	return err == nil && day.AddDate(0, 0, 1).Add(dayEndMargin).UnixMilli() <= now
}
