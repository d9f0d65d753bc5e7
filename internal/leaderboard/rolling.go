package leaderboard

import "maps"

// newRollingBoards returns the state of a rolling window on the first ledger day. Days
// before the first ledger day are empty, so both boards are complete.
func newRollingBoards(day string, n int) RollingBoards {
	return RollingBoards{FirstDay: [2]string{addDays(day, 1-n), addDays(day, 2-n)}}
}

// unservedIndex returns the index of the board that is not served, 0 or 1.
func (r RollingBoards) unserved() int { return 1 - r.Served }

// withDayStarted returns the state after openDay has started. It serves the other board if
// no eviction from that board is unfinished, and it begins later than the served one but
// not after the window's first day.
func (r RollingBoards) startDay(day string, n int) RollingBoards {
	other := r.unserved()
	if r.Cursor[other] == 0 && r.FirstDay[other] <= addDays(day, 1-n) && r.FirstDay[other] > r.FirstDay[r.Served] {
		r.Served = other
	}
	return r
}

// targetFirstDay returns the first day that the unserved board must have after all
// evictions: that of today's window if the served board is behind, else that of
// tomorrow's window.
func (r RollingBoards) targetFirstDay(day string, n int) string {
	if window := addDays(day, 1-n); r.FirstDay[r.Served] < window {
		return window
	}
	return addDays(day, 2-n)
}

// mustEvict reports whether at least one day must be evicted from the unserved board.
func (r RollingBoards) mustEvict(day string, n int) bool {
	return r.FirstDay[r.unserved()] < r.targetFirstDay(day, n)
}

// isTooFarBehind reports whether the served board is behind by at least the window's
// length. Then a build is faster than evictions.
func (r RollingBoards) isTooFarBehind(day string, n int) bool {
	return r.FirstDay[r.Served] <= addDays(day, 1-2*n)
}

// withDayEvicted returns the state after the first day of the unserved board has been
// evicted completely. That board becomes the served one if it now begins with the
// window's first day and the served one is behind.
func (r RollingBoards) finishDay(day string, n int) RollingBoards {
	other, first := r.unserved(), addDays(day, 1-n)
	r.FirstDay[other], r.Cursor[other] = addDays(r.FirstDay[other], 1), 0
	if r.FirstDay[other] == first && r.FirstDay[r.Served] < first {
		r.Served = other
	}
	return r
}

// isEvicting reports whether a day is partly evicted from one of the boards.
func (r RollingBoards) isEvicting(day string) bool {
	return r.FirstDay[0] == day && r.Cursor[0] > 0 || r.FirstDay[1] == day && r.Cursor[1] > 0
}

// newRollingWindows returns the state of all rolling windows on the first ledger day.
func (c Config) startRolling(day string) map[Window]RollingBoards {
	rolling := map[Window]RollingBoards{}
	for _, w := range c.rollingWindows() {
		rolling[w] = newRollingBoards(day, w.Days())
	}
	return rolling
}

// startDayInAllWindows returns the state of all rolling windows after a day has started.
func startDayInAll(rolling map[Window]RollingBoards, day string) map[Window]RollingBoards {
	after := maps.Clone(rolling)
	for w, boards := range after {
		after[w] = boards.startDay(day, w.Days())
	}
	return after
}

// hasEvictionBetween reports whether entries were evicted between two states. It ignores
// changes of the served board, which the start of a day causes.
func haveEvicted(before, after map[Window]RollingBoards) bool {
	return !maps.EqualFunc(before, after, func(x, y RollingBoards) bool { return x.FirstDay == y.FirstDay && x.Cursor == y.Cursor })
}

// earliestDay returns the first day that any rolling board holds, or "" if there are no
// rolling boards.
func earliestDay(rolling map[Window]RollingBoards) string {
	first := ""
	for _, boards := range rolling {
		for _, firstDay := range boards.FirstDay {
			if first == "" || firstDay < first {
				first = firstDay
			}
		}
	}
	return first
}
