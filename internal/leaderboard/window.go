package leaderboard

import (
	"fmt"
	"regexp"
	"strconv"
)

// Window is the span of days that a board sums over: All, Day, or the last N
// days, written "7d".
type Window string

// The windows without a number.
const (
	All Window = "all" // since the game's first day
	Day Window = "day" // the open day; it starts empty
)

// MaxWindowDays is the longest rolling window.
const MaxWindowDays = 400

var rolling = regexp.MustCompile(`^[1-9][0-9]{0,2}d$`)

// ParseWindow returns the window of that name. Rolling windows have 2 to
// MaxWindowDays days: one of a single day is Day.
func ParseWindow(s string) (Window, error) {
	w := Window(s)
	switch n := w.Days(); {
	case w == All, w == Day, n >= 2 && n <= MaxWindowDays:
		return w, nil
	case n == 1:
		return "", fmt.Errorf("window %q: write %q", s, Day)
	}
	return "", fmt.Errorf("unknown window %q: %q, %q, or 2d to %dd", s, All, Day, MaxWindowDays)
}

// Rolling reports whether the window is of the last N days.
func (w Window) Rolling() bool { return w.Days() > 0 }

// Days is the N of "Nd", else 0.
func (w Window) Days() int {
	if !rolling.MatchString(string(w)) {
		return 0
	}
	n, err := strconv.Atoi(string(w[:len(w)-1]))
	if err != nil {
		return 0
	}
	return n
}
