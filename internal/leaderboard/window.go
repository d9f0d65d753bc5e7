package leaderboard

import (
	"fmt"
	"strings"
)

// Window is a span of days: All, Day, or the last N days, written for example "7d".
type Window string

// The windows without a number.
const (
	All Window = "all" // all days of the game
	Day Window = "day" // the current day
)

// MaxWindowDays is the length of the longest rolling window.
const MaxWindowDays = 400

// ParseWindow returns the window with that name. Rolling windows have 2 to MaxWindowDays
// days. A single day is Day, not "1d".
func ParseWindow(s string) (Window, error) {
	w := Window(s)
	switch n := w.Days(); {
	case w == All, w == Day, n >= 2 && n <= MaxWindowDays:
		return w, nil
	case n == 1:
		return "", fmt.Errorf("window %q: write %q", s, Day)
	}
	return "", fmt.Errorf("unknown window %q; use %q, %q, or 2d to %dd", s, All, Day, MaxWindowDays)
}

// Rolling reports whether the window is the last N days.
func (w Window) Rolling() bool { return w.Days() > 0 }

// Days returns the length N of the rolling window "Nd", or 0 for other windows. N has at
// most three digits. It parses without allocations, because appliers call it for each row
// of the ledger.
func (w Window) Days() int {
	digits, ok := strings.CutSuffix(string(w), "d")
	if !ok || digits == "" || len(digits) > 3 || digits[0] == '0' {
		return 0
	}
	n := 0
	for _, d := range []byte(digits) {
		if d < '0' || d > '9' {
			return 0
		}
		n = 10*n + int(d-'0')
	}
	return n
}
