package leaderboard

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A rolling window is one to three digits without a leading 0, and a d.
func TestWindowNamesAreParsed(t *testing.T) {
	t.Parallel()
	rolling := regexp.MustCompile(`^[1-9][0-9]{0,2}d$`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[0-9]{0,4}[0-9a٣/: -]?[0-9]?d{0,2}\n?`).Draw(t, "window")
		want := 0
		if rolling.MatchString(name) {
			want, _ = strconv.Atoi(strings.TrimSuffix(name, "d")) // digits
		}
		if w := Window(name); w.Days() != want || w.IsRolling() != (want > 0) {
			t.Fatalf("%q has %d days, want %d", name, w.Days(), want)
		}
	})
}
