package leaderboard

import "testing"

// After k missed days the window's days are served once at most k days have been
// taken out, and until then the first day shown never goes back.
func TestMissedDaysAreTakenOutOfOneBoard(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 9; n++ {
		for k := 1; k <= 3*n; k++ {
			day := "2026-03-01"
			r := startRoll(day, n)
			for range k {
				day = addDays(day, 1)
				r = r.onDay(day, n)
			}
			first, calls := addDays(day, 1-n), 0
			for r.Lo[r.Served] < first {
				shown := r.Lo[r.Served]
				r = r.past(day, n)
				if calls++; calls > k {
					t.Fatalf("%d missed days of a window of %d: %d days taken out, and %s is served instead of %s", k, n, calls, r.Lo[r.Served], first)
				}
				if r.Lo[r.Served] < shown || r.Lo[r.Served] > first {
					t.Fatalf("%d missed days of a window of %d: after %s comes %s", k, n, shown, r.Lo[r.Served])
				}
			}
		}
	}
}
