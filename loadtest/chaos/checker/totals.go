package checker

import (
	"cmp"
	"slices"

	"laststand/internal/protocol"
)

// totals are what a player has reached in a match.
type totals struct {
	player                          string
	score, saved                    int64
	correct, answered, asked, lasts int
	out, unsure                     bool
	rank                            int // at the end
}

// count adds a question to the totals by section 3 of the contract, and returns its
// points.
func (t *totals) count(mode string, e evidence) (points int64) {
	t.unsure = t.unsure || e.unsure
	t.asked++
	if e.accepted {
		t.answered++
	}
	if !e.correct {
		return 0
	}
	elapsed := min(e.elapsed, limitMS)
	points = 100 + 100*(limitMS-elapsed)/limitMS
	if mode == "buzzer" {
		points = 100
	}
	t.correct++
	t.score += points
	t.saved += limitMS - elapsed
	return points
}

// standing returns the standing that the server must show. Values that the totals do not
// contain, such as ratings, are copied from shown.
func (t *totals) standing(shown protocol.OverStanding) protocol.OverStanding {
	shown.Rank, shown.Player, shown.Score = t.rank, t.player, t.score
	shown.Correct, shown.Answered, shown.Asked = t.correct, t.answered, t.asked
	shown.TimeMS = limitMS*int64(t.asked) - t.saved
	return shown
}

// order returns a comparison for a mode: the leading player comes first, and equals
// compare as 0.
func order(mode string) func(a, b *totals) int {
	first := func(a, b *totals) int { return cmp.Compare(b.score, a.score) }
	if mode == "survival" {
		first = func(a, b *totals) int { return cmp.Compare(b.lasts, a.lasts) }
	}
	return func(a, b *totals) int {
		return cmp.Or(first(a, b), cmp.Compare(limitMS*int64(a.asked)-a.saved, limitMS*int64(b.asked)-b.saved))
	}
}

// rank ranks all players from 1; equals share a rank. If anything about one player is
// unknown, no player gets a rank.
func rank(mode string, all map[string]*totals) {
	var sorted []*totals
	unsure := false
	for _, t := range all {
		sorted = append(sorted, t)
		unsure = unsure || t.unsure
	}
	by := order(mode)
	slices.SortFunc(sorted, by)
	for i, t := range sorted {
		t.rank, t.unsure = i+1, unsure
		if i > 0 && by(sorted[i-1], t) == 0 {
			t.rank = sorted[i-1].rank
		}
	}
}
