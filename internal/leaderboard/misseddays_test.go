package leaderboard

import "testing"

// After k missed days, at most k evictions are needed until the served board begins with
// the window's first day. Until then, the first day of the served board never moves back.
func TestEvictionsOfMissedDaysNeverShowAnEarlierDay(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 9; n++ {
		for k := 1; k <= 3*n; k++ {
			day := "2026-03-01"
			r := newRollingBoards(day, n)
			for range k {
				day = addDays(day, 1)
				r = r.withDayStarted(day, n)
			}
			first, calls := addDays(day, 1-n), 0
			for r.FirstDays[r.Served] < first {
				shown := r.FirstDays[r.Served]
				r = r.withDayEvicted(day, n)
				if calls++; calls > k {
					t.Fatalf("%d missed days of a window of %d: after %d evicted days the served board begins with %s instead of %s", k, n, calls, r.FirstDays[r.Served], first)
				}
				if r.FirstDays[r.Served] < shown || r.FirstDays[r.Served] > first {
					t.Fatalf("%d missed days of a window of %d: the first served day changed from %s to %s", k, n, shown, r.FirstDays[r.Served])
				}
			}
		}
	}
}
