package match

import (
	"cmp"
	"encoding/json"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// judgeAnswer returns the record of an answer: whether it is right, and its
// points without those for a streak. It is a pure function and uses the time at which the
// frame arrived. An extension of the question does not increase the points.
func judgeAnswer(plan *Plan, state State, answer validAnswer, submission Submission) Record {
	elapsed, limit := elapsedMS(plan, state, submission), plan.Limit(answer.question)
	record := Record{
		Player: submission.Player, Question: answer.question, Given: answer.given, Normalized: answer.normal, ArrivedAt: submission.ArrivedAt, ElapsedMS: elapsed,
	}
	record.Points, record.Correct = plan.scoring().Base(plan.Questions[answer.question], quiz.Answered{
		Normalized: answer.normal, ElapsedMS: elapsed, LimitMS: limit, Multiplier: plan.Multiplier(answer.question),
	})
	if record.Correct {
		record.SavedMS = max(limit-elapsed, 0)
	}
	return record
}

// maxEarlyAnswerMS is the accepted clock difference between two nodes. An answer that
// arrives up to this many ms early counts as sent at the opening.
const maxEarlyAnswerMS = 50

// elapsedMS is the time that an answer took. An arrival more than
// maxEarlyAnswerMS before the opening comes from a clock that is behind. It says
// nothing about the real time, so it counts as the full limit and earns no speed
// points. With extra time it is scaled to the limit of the other players.
func elapsedMS(plan *Plan, state State, submission Submission) int64 {
	if submission.ArrivedAt < state.OpensAt-maxEarlyAnswerMS {
		return plan.Limit(state.Question)
	}
	return max(submission.ArrivedAt-state.readsUntil(plan), 0) * 100 / (100 + state.extraPercent(submission.Player))
}

// compareStandings orders standings, best first: the higher score in duel, buzzer and race, the
// longer survival in survival, then less time. A player who leaves a duel loses it. A player
// who leaves an arena ranks behind all who stayed.
func compareStandings(mode Mode, leaver string, a, b Standing) int {
	switch {
	case leaver != "":
		return compareBools(a.Player == leaver, b.Player == leaver)
	case mode == Survival:
		return cmp.Or(compareBools(a.HasLeft, b.HasLeft), cmp.Compare(b.survived, a.survived), cmp.Compare(a.TimeMS, b.TimeMS))
	}
	return cmp.Or(compareBools(a.HasLeft, b.HasLeft), cmp.Compare(b.Score, a.Score), cmp.Compare(a.TimeMS, b.TimeMS))
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// addProvisionalRatings computes the provisional ratings of both players of a duel. The ledger
// computes the final ones when it commits the result.
func addProvisionalRatings(plan *Plan, result *Result) {
	if len(plan.Seats) != 2 || plan.Seats[0].Rating == nil || plan.Seats[1].Rating == nil {
		return
	}
	result.Rate(func(s Standing) Rating {
		seat, _ := plan.FindSeat(s.Player)
		return *seat.Rating
	})
}

// Submission is a player's answer as it was received.
type Submission struct {
	Player    string
	ArrivedAt int64 // cluster time at which its frame was read
	Answer    protocol.Answer
}

// validAnswer is an answer whose form is valid.
type validAnswer struct {
	seat     Seat
	question int
	normal   string
	given    json.RawMessage
}
