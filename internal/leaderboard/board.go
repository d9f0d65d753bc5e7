package leaderboard

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Errors for callers.
var (
	ErrNotReady  = errors.New("leaderboard not ready")       // the boards are lost or being built; try again later
	ErrNoWindow  = errors.New("no such leaderboard")         // unknown game, or the game has no such window
	ErrNotRanked = errors.New("not ranked")                  // the board does not rank the player in that order
	ErrBadQuery  = errors.New("bad leaderboard query")       // the wrapping error says what to change
	ErrBadCursor = fmt.Errorf("%w: bad cursor", ErrBadQuery) // the cursor is damaged, or belongs to another board or order
)

// Kind says whether a board ranks players or teams.
type Kind string

// The kinds of boards.
const (
	Players Kind = "player"
	Teams   Kind = "team"
)

// Kinds returns all kinds. Evictions subtract a day's entries in this order of kinds.
func Kinds() []Kind { return []Kind{Players, Teams} }

// Board identifies one board of a game. Span is All, a civil date (YYYY-MM-DD), or
// RollingSpan for one of the two boards of a rolling window.
type Board struct {
	Kind Kind   `json:"kind"`
	Span string `json:"window"`
}

// RollingSpan returns the span of one of a rolling window's two boards. index is 0 or 1.
// Example: "7d.1".
func RollingSpan(window Window, i int) string { return string(window) + "." + strconv.Itoa(i) }

// BoardEntry is an entry as a board stores it.
type BoardEntry struct {
	ID         string
	Newest     int64      // ledger position of its newest row in the board's span
	Aggregates Aggregates `json:"-"` // a cursor is without them
}

// Member returns the entry's member in rankings: the newest position, zero-padded to 16
// digits, a colon, and the id. Among entries with equal keys, the lower position comes
// first. Example: "0000000000000042:p7".
func (e BoardEntry) Member() string { return fmt.Sprintf("%016d:%s", e.Newest, e.ID) }

// addDays adds n days to a civil date. It returns an unparsable date unchanged.
func addDays(date string, n int) string {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return day.AddDate(0, 0, n).Format(time.DateOnly)
}
