package match

import (
	"laststand/internal/quiz"
	"laststand/internal/rating"
)

// judge says what an answer is worth: pure, by the stamp on its frame. Time
// given back to a question does not lengthen what counts.
func judge(p *Plan, s State, j validAnswer, sub Submission) Record {
	elapsed := elapsedMS(p, s, sub.At)
	r := Record{
		Player: sub.Player, Question: j.question, Given: j.given, Normal: j.normal, At: sub.At, ElapsedMS: elapsed,
	}
	if !p.Questions[j.question].Correct(j.normal) {
		return r
	}
	r.Correct = true
	r.SavedMS = max(p.LimitMS-elapsed, 0)
	r.Points = int64(quiz.Points(p.LimitMS, elapsed))
	if p.Mode == Buzzer {
		r.Points = quiz.FirstPoints
	}
	return r
}

// earlyMS is how far the clocks of two nodes may differ for an answer stamped
// before the question opened to count as given at once.
const earlyMS = 50

// elapsedMS is the time an answer took. A stamp before the opening comes from a
// clock that is behind, which says nothing of the time: it counts as the limit,
// so that it earns no speed points.
func elapsedMS(p *Plan, s State, at int64) int64 {
	if at < s.OpensAt-earlyMS {
		return p.LimitMS
	}
	return max(at-s.OpensAt, 0)
}

// isAheadFunc says who of two standings is ahead: by the higher score in duel and
// buzzer, by the longer survival there, then by less time. Who leaves a
// duel loses it, who leaves an arena is behind all who have not.
func isAheadFunc(p *Plan, s State) func(a, b Standing) bool {
	switch {
	case s.Leaver != "":
		return func(a, b Standing) bool { return b.Player == s.Leaver && a.Player != s.Leaver }
	case p.Mode == Survival:
		return func(a, b Standing) bool {
			if a.hasLeft != b.hasLeft || a.survived != b.survived {
				return b.hasLeft && !a.hasLeft || a.hasLeft == b.hasLeft && a.survived > b.survived
			}
			return a.TimeMS < b.TimeMS
		}
	}
	return func(a, b Standing) bool {
		if a.hasLeft != b.hasLeft || a.Score != b.Score {
			return b.hasLeft && !a.hasLeft || a.hasLeft == b.hasLeft && a.Score > b.Score
		}
		return a.TimeMS < b.TimeMS
	}
}

// assignRanks numbers sorted standings from 1; equals share a rank.
func assignRanks(sorted []Standing, isAhead func(a, b Standing) bool) {
	for i := range sorted {
		sorted[i].Rank = i + 1
		if i > 0 && !isAhead(sorted[i-1], sorted[i]) {
			sorted[i].Rank = sorted[i-1].Rank
		}
	}
}

// rate gives both players of a duel their provisional rating after it. The
// ledger computes the final one when it commits the result.
func rate(p *Plan, r *Result) {
	if len(p.Seats) != 2 || p.Seats[0].Rating == nil || p.Seats[1].Rating == nil {
		return
	}
	r.Rate(func(s Standing) rating.Rating {
		seat, _ := p.Seat(s.Player)
		return *seat.Rating
	})
}
