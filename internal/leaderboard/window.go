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
func ParseWindow(name string) (Window, error) {
	window := Window(name)
	switch n := window.Days(); {
	case window == All, window == Day, n >= 2 && n <= MaxWindowDays:
		return window, nil
	case n == 1:
		return "", fmt.Errorf("window %q: write %q", name, Day)
	}
	return "", fmt.Errorf("unknown window %q; use %q, %q, or 2d to %dd", name, All, Day, MaxWindowDays)
}

// IsRolling reports whether the window is the last N days.
func (w Window) IsRolling() bool { return w.Days() > 0 }

// Days returns the length N of the rolling window "Nd", or 0 for other windows. N has at
// most three digits. It parses without allocations, because appliers call it for each row
// of the ledger.
func (w Window) Days() int {
	digits, ok := strings.CutSuffix(string(w), "d")
	if !ok || digits == "" || len(digits) > 3 || digits[0] == '0' {
		return 0
	}
	n := 0
	for _, digit := range []byte(digits) {
		if digit < '0' || digit > '9' {
			return 0
		}
		n = 10*n + int(digit-'0')
	}
	return n
}
