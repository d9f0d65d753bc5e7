package checker

import (
	"encoding/json"
	"slices"

	"laststand/internal/protocol"
)

// closesAtFor is when a question closes for a player with extra time, in percent.
func (r *round) closesAtFor(extra int64) int64 { return r.closesAt + r.limitMS()*extra/100 }

// takeOwnDeadline takes the later close of a question that only a player with extra time
// receives. The extra time is the same in all questions.
func (v *View) takeOwnDeadline(data json.RawMessage) error {
	var own protocol.OwnDeadline
	if err := json.Unmarshal(data, &own); err != nil {
		return violation("%v: %s", err, data)
	}
	if v.match != nil && v.part == nil {
		return violation("a client that does not play %s is told %s", v.match.id, data)
	}
	if v.match == nil || v.isOver || v.match.id != own.Match {
		return nil
	}
	if !slices.Contains([]int64{25, 50, 100}, own.Extra) || v.part.extra != 0 && v.part.extra != own.Extra {
		return violation("a player of %s with %d%% extra time is told %s", v.match.id, v.part.extra, data)
	}
	v.part.extra = own.Extra
	m := v.match
	m.mu.Lock()
	defer m.mu.Unlock()
	m.extra = max(m.extra, own.Extra)
	if own.Question < 0 || own.Question >= len(m.log.rounds) { // a state can come before its question
		return nil
	}
	r := m.log.rounds[own.Question]
	if closesAt := own.ClosesAt - r.limitMS()*own.Extra/100; closesAt < r.asked.ClosesAt || closesAt > r.closesAt {
		return violation("question %d of %s closes at %d, and a player is told %s", own.Question, m.id, r.closesAt, data)
	}
	return nil
}

// LastClosesAt is when a question of the match closes at the latest: for the player with the
// most extra time.
func (v *View) LastClosesAt(question int) int64 {
	v.match.mu.Lock()
	defer v.match.mu.Unlock()
	return v.match.log.rounds[question].closesAtFor(v.match.extra)
}

// lastClosesAt is when a question had to close at the latest, for the players still in. One
// who has left without a trace counts as without extra time.
func (j *judgement) lastClosesAt(r *round, verdicts map[string]verdict) int64 {
	extra := int64(0)
	for player := range verdicts {
		if !j.checker.Leavers {
			extra = max(extra, j.parts[player].extra)
		}
	}
	return r.closesAtFor(extra)
}
