package leaderboard

import (
	"strconv"
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

// IsRolling reports whether the window is the last N days.
func (w Window) IsRolling() bool { return w.Days() > 0 }

// Days returns the length N of the rolling window "Nd", or 0 for other windows. N has at
// most three digits.
func (w Window) Days() int {
	digits, isRolling := strings.CutSuffix(string(w), "d")
	if !isRolling || digits == "" || len(digits) > 3 || digits[0] < '1' || digits[0] > '9' {
		return 0
	}
	n, _ := strconv.Atoi(digits) // 0 if there is another character
	return n
}
