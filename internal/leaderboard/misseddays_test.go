package leaderboard

import "testing"

// After k missed days, at most k evictions are needed until the served board begins with
// the window's first day. Until then, the first day of the served board never moves back.
func TestEvictionsOfMissedDaysNeverShowAnEarlierDay(t *testing.T) {
	t.Parallel()
	for windowDays := 2; windowDays <= 9; windowDays++ {
		for missedDays := 1; missedDays <= 3*windowDays; missedDays++ {
			day := "2026-03-01"
			boards := newRollingBoards(day, windowDays)
			for range missedDays {
				day = addDays(day, 1)
				boards = boards.withDayStarted(day, windowDays)
			}
			windowStart, evictions := addDays(day, 1-windowDays), 0
			for boards.FirstDays[boards.Served] < windowStart {
				firstDayBefore := boards.FirstDays[boards.Served]
				boards = boards.withDayEvicted(day, windowDays)
				if evictions++; evictions > missedDays {
					t.Fatalf("%d missed days of a window of %d: after %d evicted days the served board begins with %s instead of %s", missedDays, windowDays, evictions, boards.FirstDays[boards.Served], windowStart)
				}
				if boards.FirstDays[boards.Served] < firstDayBefore || boards.FirstDays[boards.Served] > windowStart {
					t.Fatalf("%d missed days of a window of %d: the first served day changed from %s to %s", missedDays, windowDays, firstDayBefore, boards.FirstDays[boards.Served])
				}
			}
		}
	}
}
