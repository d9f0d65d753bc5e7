package leaderboard

import (
	"errors"
	"fmt"
	"time"
)

// The outcomes that a caller tells apart.
var (
	ErrNotReady  = errors.New("leaderboard not ready")       // lost or being built: try again
	ErrNoWindow  = errors.New("no such leaderboard")         // the game has no such window
	ErrNotRanked = errors.New("not ranked")                  // the player is not on the board in that order
	ErrBadQuery  = errors.New("bad leaderboard query")       // wrapped with what to do
	ErrBadCursor = fmt.Errorf("%w: bad cursor", ErrBadQuery) // not from this board and order, or damaged
)

// Kind says whose entries a board holds.
type Kind string

// Players is the kind of board whose entries are players.
const Players Kind = "player"

// KeepDays is how many days have a board of their own: the open one and those
// before it. What turns the day drops the board that leaves.
const KeepDays = 40

// Board names one board of a game. Span is All, or a civil date.
type Board struct {
	Kind Kind
	Span string
}

// Held is an entry as a board holds it.
type Held struct {
	ID     string
	Newest int64 // ledger position of its newest row in the span
	Parts  Parts
}

// Member orders entries of equal keys: the newest position, zero-padded to 16,
// a colon, the id.
func (h Held) Member() string { return fmt.Sprintf("%016d:%s", h.Newest, h.ID) }

// Ranked is an entry's member and key in one order.
type Ranked struct {
	Key    float64
	Member string
}

// addDays moves a civil date. A date that does not parse is returned as it is.
func addDays(date string, n int) string {
	d, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return d.AddDate(0, 0, n).Format(time.DateOnly)
}
