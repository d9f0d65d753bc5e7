package match

import (
	"context"
	"errors"

	"laststand/internal/protocol"
)

// answered turns an outcome into the reply, and into what follows on it.
func (e *Engine) answered(l *live, out Outcome, j judged) (protocol.Answered, func(), error) {
	r := out.Record
	switch out.Verdict {
	case Accepted:
		e.metrics.answers.WithLabelValues(string(Accepted)).Inc()
		return replyTo(l.plan, r), e.afterAnswer(l, out), nil
	case Duplicate:
		if r.Normal == j.normal {
			e.metrics.answers.WithLabelValues("repeated").Inc()
			return replyTo(l.plan, r), nothing, nil
		}
		err := protocol.Errorf(protocol.CodeDuplicateAnswer, "question %d has your answer already", j.question)
		err.Accepted = accepted(r)
		return e.refuse(err)
	case Early:
		return e.refuse(notOpen(j.question))
	case Late:
		return e.refuse(protocol.Errorf(protocol.CodeQuestionClosed, "question %d is closed", j.question))
	case Eliminated:
		return e.refuse(eliminated())
	case LockedOut:
		return e.refuse(protocol.RetryAfter(protocol.CodeQuestionNotOpen, out.RetryMS, "your team has just answered wrong; wait"))
	}
	return e.refuse(notInMatch())
}

// replyTo answers an accepted answer. Where the first right one closes a
// question its sender is told at once what it was worth.
func replyTo(p *Plan, r Record) protocol.Answered {
	reply := protocol.Answered{Question: r.Question, At: r.At, ElapsedMS: r.ElapsedMS}
	if p.Mode == Buzzer {
		reply.Correct, reply.First = &r.Correct, &r.First
	}
	return reply
}

// afterAnswer is what follows on an accepted answer: most cause nothing.
func (e *Engine) afterAnswer(l *live, out Outcome) func() {
	unknown := l.plan.Mode == Duel && out.Seq == 0
	goesOn := unknown || out.Sealed || out.Answered >= out.Alive
	if out.Seq == 0 && !goesOn {
		return nothing
	}
	known := out // kept only here
	return func() { e.followUp(l, known, goesOn) }
}

// followUp pushes that an answer was accepted, where the mode says so, and where
// it was the last one, or has won, closes the question. Where the push's number
// is not known any more advancing pushes it from the log.
func (e *Engine) followUp(l *live, out Outcome, goesOn bool) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var err error
	if out.Seq > 0 {
		seen := answerSeen(l.plan, out.Record.Question, out.Record.Player)
		f := encode([]protocol.Numbered{seen}, out.Seq)
		e.publish(ctx, l, out.Nodes, news{frames: f, version: out.Version})
		err = e.deliver(ctx, l, delivery{frames: f})
	}
	if err == nil && goesOn {
		err = e.advance(ctx, l, l.afterAnswer(out))
	}
	if err != nil { // the store has it all: the sweeps make up for it
		e.Logger.Warn("an accepted answer could not be followed up here", "match", l.plan.ID, "error", err)
	}
}

// afterAnswer is what an accepted answer makes of the state known here; nothing
// where a duel's push of it is lost, or the match has moved on.
func (l *live) afterAnswer(out Outcome) View {
	s, lost := l.known(), l.plan.Mode == Duel && out.Seq == 0
	if lost || out.Sealed || s.Phase != Open || s.Question != out.Record.Question {
		return View{}
	}
	s.Answered, s.Alive = out.Answered, out.Alive
	return View{State: s}
}

func nothing() {}

// refuse counts a refusal by its reason.
func (e *Engine) refuse(err error) (protocol.Answered, func(), error) {
	reason := "failed"
	var refused *protocol.Error
	if errors.As(err, &refused) {
		reason = string(refused.Code)
	}
	e.metrics.answers.WithLabelValues(reason).Inc()
	return protocol.Answered{}, nothing, err
}

func notInMatch() error {
	return protocol.Errorf(protocol.CodeNotInMatch, "you have no seat in this match, or it is long over")
}

func notOpen(question int) error {
	return protocol.Errorf(protocol.CodeQuestionNotOpen, "question %d is not open yet", question)
}

func eliminated() error {
	return protocol.Errorf(protocol.CodeEliminated, "you are out; you may watch on")
}
