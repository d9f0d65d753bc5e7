package leaderboard

// newRollingBoards returns the state of a rolling window on the first ledger day. Days
// before the first ledger day are empty, so both boards are complete.
func newRollingBoards(firstDay string, windowDays int) RollingBoards {
	return RollingBoards{FirstDays: [2]string{addDays(firstDay, 1-windowDays), addDays(firstDay, 2-windowDays)}}
}

// unservedIndex returns the index of the board that is not served, 0 or 1.
func (r RollingBoards) unservedIndex() int { return 1 - r.Served }

// withDayStarted returns the state after openDay has started. It serves the other board if
// no eviction from that board is unfinished, and it begins later than the served one but
// not after the window's first day.
func (r RollingBoards) withDayStarted(openDay string, windowDays int) RollingBoards {
	unserved := r.unservedIndex()
	if r.Cursor[unserved] == 0 && r.FirstDays[unserved] <= addDays(openDay, 1-windowDays) && r.FirstDays[unserved] > r.FirstDays[r.Served] {
		r.Served = unserved
	}
	return r
}

// mustEvict reports whether at least one day must be evicted from the unserved board: it must
// begin with the first day of tomorrow's window. If the served board is behind, the unserved
// one is served as soon as it begins with the first day of today's window.
func (r RollingBoards) mustEvict(openDay string, windowDays int) bool {
	return r.FirstDays[r.unservedIndex()] < addDays(openDay, 2-windowDays)
}

// isTooFarBehind reports whether the served board is behind by at least the window's
// length. Then a build is faster than evictions.
func (r RollingBoards) isTooFarBehind(openDay string, windowDays int) bool {
	return r.FirstDays[r.Served] <= addDays(openDay, 1-2*windowDays)
}

// withDayEvicted returns the state after the first day of the unserved board has been
// evicted completely. That board becomes the served one if it now begins with the
// window's first day and the served one is behind.
func (r RollingBoards) withDayEvicted(openDay string, windowDays int) RollingBoards {
	unserved, windowStart := r.unservedIndex(), addDays(openDay, 1-windowDays)
	r.FirstDays[unserved], r.Cursor[unserved] = addDays(r.FirstDays[unserved], 1), 0
	if r.FirstDays[unserved] == windowStart && r.FirstDays[r.Served] < windowStart {
		r.Served = unserved
	}
	return r
}

// isEvicting reports whether a day is partly evicted from one of the boards.
func (r RollingBoards) isEvicting(day string) bool {
	return r.FirstDays[0] == day && r.Cursor[0] > 0 || r.FirstDays[1] == day && r.Cursor[1] > 0
}

// newRollingWindows returns the state of all rolling windows on the first ledger day.
func (c Config) newRollingWindows(firstDay string) map[Window]RollingBoards {
	rolling := map[Window]RollingBoards{}
	for _, window := range c.rollingWindows() {
		rolling[window] = newRollingBoards(firstDay, window.Days())
	}
	return rolling
}

// oldestNeededDay returns the oldest day that needs boards of its own: the day before the open
// day, or the first day that a rolling board holds.
func (p Progress) oldestNeededDay() string {
	needed := addDays(p.Watermark.Day, -1)
	for _, boards := range p.Rolling {
		needed = min(needed, boards.FirstDays[0], boards.FirstDays[1])
	}
	return needed
}
