package checker

import (
	"encoding/json"

	"laststand/internal/protocol"
)

// evidence is what is known of a player's answer to a question.
type evidence struct {
	accepted, correct bool
	unsure            bool // it cannot be said
	given             json.RawMessage
	elapsed           int64
}

// evidence of a question: what the player was answered comes first; where the
// reply was lost it is what the close, or `own`, says. So it is where a copy of
// the answer was late, and another one came in the time that was given back.
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

// result is what the close says of a player; nil for nothing.
func (r *round) result(player string) *protocol.QuestionResult {
	for i := range r.closed.Results {
		if r.closed.Results[i].Player == player {
			return &r.closed.Results[i]
		}
	}
	return nil
}
