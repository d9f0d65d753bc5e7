package match

import (
	"context"
	"encoding/json"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// ttlSlackMS is how long beyond its longest course a match's keys live.
const ttlSlackMS = 60 * 60 * 1000

// Submission is a player's answer as it came in.
type Submission struct {
	Player string
	At     int64 // cluster time at which its frame was read
	Answer protocol.Answer
}

// Answer judges an answer and has it accepted. What it gives is the reply to
// the player, an *protocol.Error where it is refused; and what is to be done
// once that reply is on its way: the pushes that the answer causes. The second
// is never nil.
func (e *Engine) Answer(ctx context.Context, s Submission) (protocol.Answered, func(), error) {
	l, seat, err := e.addressed(ctx, s)
	if err != nil {
		return e.refuse(err)
	}
	j := judged{seat: seat, question: *s.Answer.Question}
	if j.normal, err = l.plan.Questions[j.question].Normalize(given(s.Answer)); err != nil {
		return e.refuse(e.invalid(ctx, l, s, err))
	}
	j.given = s.Answer.Encode()
	out, err := e.commit(ctx, l, s, j)
	if err != nil {
		return e.refuse(err)
	}
	return e.answered(l, out, j)
}

// given is what an answer carries, as questions take it.
func given(a protocol.Answer) quiz.Given {
	return quiz.Given{Choice: a.Choice, Choices: a.Choices, Value: a.Value}
}

// judged is an answer whose form is in order.
type judged struct {
	seat     Seat
	question int
	normal   string
	given    json.RawMessage
}

// addressed finds the match, the seat and the question that an answer is for.
func (e *Engine) addressed(ctx context.Context, s Submission) (*live, Seat, error) {
	l, err := e.live(ctx, s.Answer.Match)
	if err != nil {
		return nil, Seat{}, foreign(err)
	}
	m, err := e.member(ctx, l, s.Player)
	if err != nil {
		return nil, Seat{}, foreign(err)
	}
	if m.Role != AsPlayer {
		return nil, Seat{}, notInMatch()
	}
	if s.Answer.Question == nil {
		return nil, Seat{}, protocol.Errorf(protocol.CodeBadRequest, "an answer names its question, from 0 on")
	}
	if question := *s.Answer.Question; question < 0 || question >= len(l.plan.Questions) {
		return nil, Seat{}, protocol.Errorf(protocol.CodeBadRequest, "there is no question %d: this match has questions 0 to %d",
			question, len(l.plan.Questions)-1)
	}
	return l, m.Seat, nil
}

// invalid is the refusal of an answer whose form is wrong: that its question
// is not open yet comes first, then that the player is out.
func (e *Engine) invalid(ctx context.Context, l *live, s Submission, why error) error {
	v, err := e.read(ctx, l, -1, s.Player)
	switch {
	case err != nil:
		return err
	case *s.Answer.Question > v.Question:
		return notOpen(*s.Answer.Question)
	case l.plan.Mode == Survival && v.out(v.Totals[s.Player]):
		return eliminated()
	}
	return protocol.Errorf(protocol.CodeInvalidAnswer, "%v", why)
}
