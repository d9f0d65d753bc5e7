package match

import (
	"laststand/internal/quiz"
	"laststand/internal/rating"
)

// judgeAnswer returns the record of an answer: whether it is right, and its
// points. It is a pure function and uses the time at which the frame arrived. An extension of the
// question does not increase the points.
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

// earlyMS is the accepted clock difference between two nodes. An answer that
// arrives up to this many ms early counts as sent at the opening.
const earlyMS = 50

// elapsedMS is the time that an answer took. An arrival more than
// maxEarlyAnswerMS before the opening comes from a clock that is behind. It says
// nothing about the real time, so it counts as the full limit and earns no speed
// points.
func elapsedMS(p *Plan, s State, at int64) int64 {
	if at < s.OpensAt-earlyMS {
		return p.LimitMS
	}
	return max(at-s.OpensAt, 0)
}

// isAheadFunc returns the ranking order of standings: the higher score in duel
// and buzzer, the longer survival in survival, then less time. A player who
// leaves a duel loses it. A player who leaves an arena ranks behind all who
// stayed.
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

// assignRanks numbers sorted standings from 1; equal ones share a rank.
func assignRanks(sorted []Standing, isAhead func(a, b Standing) bool) {
	for i := range sorted {
		sorted[i].Rank = i + 1
		if i > 0 && !isAhead(sorted[i-1], sorted[i]) {
			sorted[i].Rank = sorted[i-1].Rank
		}
	}
}

// addProvisionalRatings computes the provisional ratings of both players of a duel. The ledger
// computes the final ones when it commits the result.
func rate(p *Plan, r *Result) {
	if len(p.Seats) != 2 || p.Seats[0].Rating == nil || p.Seats[1].Rating == nil {
		return
	}
	r.Rate(func(s Standing) rating.Rating {
		seat, _ := p.Seat(s.Player)
		return *seat.Rating
	})
}
