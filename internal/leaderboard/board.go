package leaderboard

import (
	"errors"
	"fmt"
	"strconv"
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

// The kinds of boards.
const (
	Players Kind = "player"
	Teams   Kind = "team"
)

// Kinds are both, in the order in which a day is taken out of a rolling board.
func Kinds() []Kind { return []Kind{Players, Teams} }

// Board names one board of a game. Span is All, a civil date, or one of the
// two boards of a rolling window, see Slot.
type Board struct {
	Kind Kind
	Span string
}

// Slot is the span of one of the two boards, 0 or 1, of a rolling window.
func Slot(w Window, i int) string { return string(w) + "." + strconv.Itoa(i) }

// Held is an entry as a board holds it.
type Held struct {
	ID     string
	Newest int64 // ledger position of its newest row in the span
	Parts  Parts
}

// Member orders entries of equal keys: the newest position, zero-padded to 16,
// a colon, the id.
func (h Held) Member() string {
	b := AppendPosition(make([]byte, 0, positionDigits+1+len(h.ID)), h.Newest)
	return string(append(append(b, ':'), h.ID...))
}

// positionDigits is how long a position is written at least.
const positionDigits = 16

// AppendPosition writes a ledger position, zero-padded to 16, so that the order of
// texts is that of positions.
func AppendPosition(to []byte, pos int64) []byte {
	for bound := int64(1e15); pos < bound && bound > 1; bound /= 10 {
		to = append(to, '0')
	}
	return strconv.AppendInt(to, pos, 10)
}

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
