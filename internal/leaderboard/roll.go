package leaderboard

import "maps"

// startRoll is a rolling window of n days on the first ledger day: the days
// before it are empty, so both boards stand where they belong.
func startRoll(day string, n int) Roll {
	return Roll{Lo: [2]string{addDays(day, 1-n), addDays(day, 2-n)}}
}

// other is the board that is not served.
func (r Roll) other() int { return 1 - r.Served }

// onDay serves, from the turn to a ledger day on, the other board where it
// holds the window's days, or comes nearer to them than the one that is served.
func (r Roll) onDay(day string, n int) Roll {
	other := r.other()
	if r.Cursor[other] == 0 && r.Lo[other] <= addDays(day, 1-n) && r.Lo[other] > r.Lo[r.Served] {
		r.Served = other
	}
	return r
}

// target is the first day that the other board is to hold: the window's while
// the served one is behind, else the window's of tomorrow.
func (r Roll) target(day string, n int) string {
	if window := addDays(day, 1-n); r.Lo[r.Served] < window {
		return window
	}
	return addDays(day, 2-n)
}

// due reports whether the other board is to have a day taken out of it.
func (r Roll) due(day string, n int) bool { return r.Lo[r.other()] < r.target(day, n) }

// behind reports whether the served board is late by the window's length: then
// a build is shorter than the way.
func (r Roll) behind(day string, n int) bool { return r.Lo[r.Served] <= addDays(day, 1-2*n) }

// past is the roll once the other board is beyond its first day. It is served
// where that gets it to the window's days, and the served one is behind them.
func (r Roll) past(day string, n int) Roll {
	other, first := r.other(), addDays(day, 1-n)
	r.Lo[other], r.Cursor[other] = addDays(r.Lo[other], 1), 0
	if r.Lo[other] == first && r.Lo[r.Served] < first {
		r.Served = other
	}
	return r
}

// inside reports whether a day is being taken out of a board just now.
func (r Roll) inside(day string) bool {
	return r.Lo[0] == day && r.Cursor[0] > 0 || r.Lo[1] == day && r.Cursor[1] > 0
}

// startRolls are those of every rolling window on the first ledger day.
func (c Config) startRolls(day string) map[Window]Roll {
	rolls := map[Window]Roll{}
	for _, w := range c.rolling() {
		rolls[w] = startRoll(day, w.Days())
	}
	return rolls
}

// rollsOn are the rolls on the day that a row turns to.
func rollsOn(rolls map[Window]Roll, day string) map[Window]Roll {
	after := maps.Clone(rolls)
	for w, r := range after {
		after[w] = r.onDay(day, w.Days())
	}
	return after
}

// moved reports whether days have been taken out of a board between two looks;
// a turn alone takes none.
func moved(before, after map[Window]Roll) bool {
	return !maps.EqualFunc(before, after, func(b, a Roll) bool { return b.Lo == a.Lo && b.Cursor == a.Cursor })
}

// earliest is the first day that any board of the rolls holds; "" without any.
func earliest(rolls map[Window]Roll) string {
	first := ""
	for _, r := range rolls {
		for _, lo := range r.Lo {
			if first == "" || lo < first {
				first = lo
			}
		}
	}
	return first
}
