package match

import (
	"context"
	"encoding/json"
	"errors"

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
	l, question, err := e.addressed(ctx, s)
	if err != nil {
		return e.refuse(err)
	}
	q := &l.plan.Questions[question]
	normal, err := q.Normalize(given(s.Answer))
	if err != nil {
		return e.refuse(e.invalid(ctx, l, question, err))
	}
	given, err := json.Marshal(s.Answer.Given)
	if err != nil {
		return e.refuse(err)
	}
	out, err := e.commit(ctx, l, s, judged{question, normal, given})
	if err != nil {
		return e.refuse(err)
	}
	return e.answered(l, out, question, normal)
}

// given is what an answer carries, as questions take it.
func given(a protocol.Answer) quiz.Given {
	return quiz.Given{Choice: a.Choice, Choices: a.Choices, Value: a.Value}
}

// judged is an answer whose form is in order.
type judged struct {
	question int
	normal   string
	given    json.RawMessage
}

// addressed finds the match and the question that an answer is for.
func (e *Engine) addressed(ctx context.Context, s Submission) (*live, int, error) {
	l, err := e.live(ctx, s.Answer.Match)
	if errors.Is(err, ErrNotFound) {
		return nil, 0, notInMatch()
	}
	if err != nil {
		return nil, 0, err
	}
	if _, ok := l.plan.Seat(s.Player); !ok {
		return nil, 0, notInMatch()
	}
	if s.Answer.Question == nil {
		return nil, 0, protocol.Errorf(protocol.CodeBadRequest, "an answer names its question, from 0 on")
	}
	question := *s.Answer.Question
	if question < 0 || question >= len(l.plan.Questions) {
		return nil, 0, protocol.Errorf(protocol.CodeBadRequest, "there is no question %d: this match has questions 0 to %d",
			question, len(l.plan.Questions)-1)
	}
	return l, question, nil
}

// invalid is the refusal of an answer whose form is wrong: that its question
// is not open yet comes first.
func (e *Engine) invalid(ctx context.Context, l *live, question int, why error) error {
	v, err := e.read(ctx, l, -1)
	if err != nil {
		return err
	}
	if question > v.Question {
		return notOpen(question)
	}
	return protocol.Errorf(protocol.CodeInvalidAnswer, "%v", why)
}

// commit has a judged answer accepted. Where this node judged by an opening
// instant that is out of date it reads the match and judges once more.
func (e *Engine) commit(ctx context.Context, l *live, s Submission, j judged) (Outcome, error) {
	id := newID()
	state := l.known()
	for range 3 {
		if state.Question == j.question {
			seen := push(l.plan, protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: j.question, Player: s.Player})
			out, err := e.Store.Commit(ctx, Attempt{
				Match: l.plan.ID, ID: id, OpensAt: state.OpensAt,
				Record: judge(l.plan, state, j, s),
				Seats:  len(l.plan.Seats), TTLMS: l.plan.longestMS() + ttlSlackMS, Seen: &seen,
			})
			if err != nil || out.Verdict != Stale {
				return out, err
			}
		}
		v, err := e.read(ctx, l, -1)
		if err != nil {
			return Outcome{}, err
		}
		if j.question != v.Question {
			return e.elsewhere(ctx, l, s.Player, j.question, v)
		}
		state = v.State
	}
	return Outcome{}, protocol.RetryAfter(protocol.CodeUnavailable, 100, "the question is just changing; send the answer again")
}

// elsewhere is the outcome of an answer to a question that is not the current
// one: it has not opened yet, or it is closed and perhaps was answered.
func (e *Engine) elsewhere(ctx context.Context, l *live, player string, question int, v View) (Outcome, error) {
	if question > v.Question {
		return Outcome{Verdict: Early}, nil
	}
	r, ok, err := e.Store.Record(ctx, l.plan.ID, player, question)
	if err != nil {
		return Outcome{}, err
	}
	if ok {
		return Outcome{Verdict: Duplicate, Record: r}, nil
	}
	return Outcome{Verdict: Late}, nil
}

// answered turns an outcome into the reply, and into what follows on it.
func (e *Engine) answered(l *live, out Outcome, question int, normal string) (protocol.Answered, func(), error) {
	r := out.Record
	reply := protocol.Answered{Question: question, At: r.At, ElapsedMS: r.ElapsedMS}
	switch out.Verdict {
	case Accepted:
		e.metrics.answers.WithLabelValues(string(Accepted)).Inc()
		return reply, func() { e.afterAnswer(l, out) }, nil
	case Duplicate:
		if r.Normal == normal {
			e.metrics.answers.WithLabelValues("repeated").Inc()
			return reply, func() {}, nil
		}
		err := protocol.Errorf(protocol.CodeDuplicateAnswer, "question %d has your answer already", question)
		err.Accepted = accepted(r)
		return e.refuse(err)
	case Early:
		return e.refuse(notOpen(question))
	case Late:
		return e.refuse(protocol.Errorf(protocol.CodeQuestionClosed, "question %d is closed", question))
	}
	return e.refuse(notInMatch())
}

// afterAnswer pushes that an answer was accepted and, where it was the last
// one, closes the question. Where the push's number is not known any more
// (0, which delivers nothing) advancing pushes it from the log.
func (e *Engine) afterAnswer(l *live, out Outcome) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	seen := push(l.plan, protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: out.Record.Question, Player: out.Record.Player})
	err := e.deliver(ctx, l, frames{first: out.Seq, bytes: [][]byte{seen.Frame(out.Seq)}})
	if err == nil && (out.Seq == 0 || out.Answered >= int64(len(l.plan.Seats))) {
		err = e.advance(ctx, l, l.afterAnswer(out))
	}
	if err != nil { // the store has it all: the sweeps make up for it
		e.Logger.Warn("an accepted answer could not be followed up here", "match", l.plan.ID, "error", err)
	}
}

// afterAnswer is what an accepted answer makes of the state known here; nothing
// where its push is lost or the match has moved on.
func (l *live) afterAnswer(out Outcome) View {
	s := l.known()
	if out.Seq == 0 || s.Phase != Open || s.Question != out.Record.Question {
		return View{}
	}
	s.Answered = out.Answered
	return View{State: s}
}

// refuse counts a refusal by its reason.
func (e *Engine) refuse(err error) (protocol.Answered, func(), error) {
	reason := "failed"
	var refused *protocol.Error
	if errors.As(err, &refused) {
		reason = string(refused.Code)
	}
	e.metrics.answers.WithLabelValues(reason).Inc()
	return protocol.Answered{}, func() {}, err
}

func notInMatch() error {
	return protocol.Errorf(protocol.CodeNotInMatch, "you have no seat in this match, or it is long over")
}

func notOpen(question int) error {
	return protocol.Errorf(protocol.CodeQuestionNotOpen, "question %d is not open yet", question)
}
