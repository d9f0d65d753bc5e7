package checker

import (
	"encoding/json"

	"laststand/internal/protocol"
)

// evidence is what is known about a player's answer to a question.
type evidence struct {
	accepted, correct bool
	unsure            bool // nothing is known
	given             json.RawMessage
	elapsed           int64
}

// evidence returns the evidence for the player's answer. The reply to the answer comes
// first. If that was lost, the evidence is the close of the question, or the push `own`.
// The same holds if one copy of the answer was late, and another came in the time that
// was given back.
func (r *round) evidence(s *share) evidence {
	g := s.answers[r.asked.Question]
	result := r.result(s.player)
	own, shown := s.owns[r.asked.Question]
	switch {
	case g != nil && g.reply != nil:
		return r.judged(g.raw, g.said.ElapsedMS)
	case g != nil && g.closed && !r.extended(), g == nil && s.over:
		return evidence{}
	case result != nil && result.ElapsedMS != nil:
		return r.judged(result.Given, *result.ElapsedMS)
	case shown && own.ElapsedMS != nil:
		return r.judged(own.Given, *own.ElapsedMS)
	}
	return evidence{unsure: result == nil && !shown}
}

func (r *round) extended() bool { return r.closesAt > r.asked.ClosesAt }

func (r *round) judged(given json.RawMessage, elapsed int64) evidence {
	return evidence{accepted: true, correct: r.right.IsCorrect(given), given: given, elapsed: elapsed}
}

// result returns the player's result in the close, nil if it has none.
func (r *round) result(player string) *protocol.QuestionResult {
	for i := range r.closed.Results {
		if r.closed.Results[i].Player == player {
			return &r.closed.Results[i]
		}
	}
	return nil
}
