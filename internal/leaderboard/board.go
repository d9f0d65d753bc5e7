package leaderboard

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Errors for callers.
var (
	ErrNotReady  = errors.New("leaderboard not ready")       // boards are lost or being built; try again
	ErrNoWindow  = errors.New("no such leaderboard")         // the game's configuration lacks the window
	ErrNotRanked = errors.New("not ranked")                  // the board does not rank the player in that order
	ErrBadQuery  = errors.New("bad leaderboard query")       // the wrapping error says what to change
	ErrBadCursor = fmt.Errorf("%w: bad cursor", ErrBadQuery) // made for another board or order, or damaged
)

// Kind says whether a board ranks players or teams.
type Kind string

// The kinds of boards.
const (
	Players Kind = "player"
	Teams   Kind = "team"
)

// Kinds returns both kinds. Days are evicted from rolling boards in this order.
func Kinds() []Kind { return []Kind{Players, Teams} }

// Board identifies one board of a game. Span is All, a civil date (YYYY-MM-DD), or
// RollingSpan for one of the two boards of a rolling window.
type Board struct {
	Kind Kind
	Span string
}

// RollingSpan returns the span of board i, 0 or 1, of a rolling window.
func RollingSpan(w Window, i int) string { return string(w) + "." + strconv.Itoa(i) }

// BoardEntry is an entry as a board stores it.
type BoardEntry struct {
	ID         string
	Newest     int64 // ledger position of its newest row in the board's span
	Aggregates Aggregates
}

// Member returns the entry's member in the sorted sets: the newest position, zero-padded
// to 16 digits, a colon, and the id. It orders entries with equal keys: the lower
// position comes first. Example: "0000000000000042:p7".
func (h BoardEntry) Member() string {
	b := AppendPosition(make([]byte, 0, positionDigits+1+len(h.ID)), h.Newest)
	return string(append(append(b, ':'), h.ID...))
}

// positionDigits is the minimum number of digits of a written position.
const positionDigits = 16

// AppendPosition appends a ledger position, zero-padded to 16 digits, so that text order
// equals position order.
func AppendPosition(to []byte, pos int64) []byte {
	for bound := int64(1e15); pos < bound && bound > 1; bound /= 10 {
		to = append(to, '0')
	}
	return strconv.AppendInt(to, pos, 10)
}

// Ranked is an entry's key and member in one order.
type Ranked struct {
	Key    float64
	Member string
}

// addDays adds n days to a civil date. It returns an unparsable date unchanged.
func addDays(date string, n int) string {
	d, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return d.AddDate(0, 0, n).Format(time.DateOnly)
}
