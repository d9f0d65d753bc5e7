package match

import (
	"context"
	"encoding/json"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// lockTTLSlackMS is added to the longest duration of a match. The sum is the time to
// live of an answer's lock.
const ttlSlackMS = 60 * 60 * 1000

// Submission is a player's answer as it was received.
type Submission struct {
	Player string
	At     int64 // cluster time at which its frame was read
	Answer protocol.Answer
}

// Answer judges an answer and submits it. It returns the reply to the player,
// or a *protocol.Error if the answer is refused. It also returns a function
// that pushes the effects of the answer. The caller must call it after it has
// sent the reply. The function is never nil.
func (e *Engine) Answer(ctx context.Context, s Submission) (protocol.Answered, func(), error) {
	l, seat, err := e.findAddressed(ctx, s)
	if err != nil {
		return e.refuse(err)
	}
	j := validAnswer{seat: seat, question: *s.Answer.Question}
	if j.normal, err = l.plan.Questions[j.question].Normalize(givenValue(s.Answer)); err != nil {
		return e.refuse(e.refuseInvalid(ctx, l, s, err))
	}
	j.given = s.Answer.Encode()
	out, err := e.commit(ctx, l, s, j)
	if err != nil {
		return e.refuse(err)
	}
	return e.replyToOutcome(l, out, j)
}

// givenValue converts an answer to the form that questions accept.
func givenValue(a protocol.Answer) quiz.Given {
	return quiz.Given{Choice: a.Choice, Choices: a.Choices, Value: a.Value}
}

// validAnswer is an answer whose form is valid.
type validAnswer struct {
	seat     Seat
	question int
	normal   string
	given    json.RawMessage
}

// findAddressed returns the match, the seat and the question of an answer.
func (e *Engine) findAddressed(ctx context.Context, s Submission) (*localMatch, Seat, error) {
	l, err := e.loadMatch(ctx, s.Answer.Match)
	if err != nil {
		return nil, Seat{}, asNotInMatch(err)
	}
	m, err := e.member(ctx, l, s.Player)
	if err != nil {
		return nil, Seat{}, asNotInMatch(err)
	}
	if m.Role != AsPlayer {
		return nil, Seat{}, notInMatch()
	}
	if s.Answer.Question == nil {
		return nil, Seat{}, protocol.Errorf(protocol.CodeBadRequest, "question is missing; send the number of the question, from 0")
	}
	if question := *s.Answer.Question; question < 0 || question >= len(l.plan.Questions) {
		return nil, Seat{}, protocol.Errorf(protocol.CodeBadRequest, "question %d does not exist; this match has questions 0 to %d",
			question, len(l.plan.Questions)-1)
	}
	return l, m.Seat, nil
}

// refuseInvalid returns the refusal of an answer with an invalid form. Two
// refusals come first: the question is not open yet, and the player is
// eliminated.
func (e *Engine) refuseInvalid(ctx context.Context, l *localMatch, s Submission, cause error) error {
	v, err := e.read(ctx, l, -1, s.Player)
	switch {
	case err != nil:
		return err
	case *s.Answer.Question > v.Question:
		return notOpen(*s.Answer.Question)
	case l.plan.Mode == Survival && v.isEliminated(v.Totals[s.Player]):
		return eliminated()
	}
	return protocol.Errorf(protocol.CodeInvalidAnswer, "%v", cause)
}
