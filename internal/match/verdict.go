package match

import (
	"context"
	"errors"

	"laststand/internal/protocol"
)

// replyToOutcome turns an outcome into the reply and the function that runs
// after it.
func (e *Engine) replyToOutcome(l *localMatch, out Outcome, j validAnswer) (protocol.Answered, func(), error) {
	r := out.Record
	switch out.Verdict {
	case Accepted:
		e.metrics.answers.WithLabelValues(string(Accepted)).Inc()
		return replyTo(l.plan, r), e.followUpFunc(l, out), nil
	case Duplicate:
		if r.Normal == j.normal {
			e.metrics.answers.WithLabelValues("repeated").Inc()
			return replyTo(l.plan, r), doNothing, nil
		}
		err := protocol.Errorf(protocol.CodeDuplicateAnswer, "you have already answered question %d", j.question)
		err.Accepted = acceptedAnswer(r)
		return e.refuse(err)
	case Early:
		return e.refuse(notOpen(j.question))
	case Late:
		return e.refuse(protocol.Errorf(protocol.CodeQuestionClosed, "question %d is closed", j.question))
	case Eliminated:
		return e.refuse(eliminated())
	case LockedOut:
		return e.refuse(protocol.RetryAfter(protocol.CodeQuestionNotOpen, out.RetryMS, "your team has answered wrong and must wait"))
	}
	return e.refuse(notInMatch())
}

// acceptedReply returns the reply to an accepted answer. In a buzzer match it
// tells the sender immediately whether the answer is right, because the first right
// answer closes the question.
func replyTo(p *Plan, r Record) protocol.Answered {
	reply := protocol.Answered{Question: r.Question, At: r.At, ElapsedMS: r.ElapsedMS}
	if p.Mode == Buzzer {
		reply.Correct, reply.First = &r.Correct, &r.First
	}
	return reply
}

// followUpFunc returns what to do after the reply to an accepted answer. Most
// answers need nothing.
func (e *Engine) followUpFunc(l *localMatch, out Outcome) func() {
	pushUnknown := l.plan.Mode == Duel && out.Seq == 0
	advances := pushUnknown || out.Sealed || out.Answered >= out.Alive
	if out.Seq == 0 && !advances {
		return doNothing
	}
	known := out // copy it only on this path
	return func() { e.followUp(l, known, advances) }
}

// followUp pushes that an answer was accepted, if the mode does so. If the
// answer was the last one or the winning one, it closes the question. If the
// push number is unknown, advancing pushes it from the log.
func (e *Engine) followUp(l *localMatch, out Outcome, advances bool) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var err error
	if out.Seq > 0 {
		seen := answerSeenPush(l.plan, out.Record.Question, out.Record.Player)
		f := encodeFrames([]protocol.Numbered{seen}, out.Seq)
		e.publishStep(ctx, l, out.Nodes, stepEvent{frames: f, version: out.Version})
		err = e.deliver(ctx, l, delivery{frames: f})
	}
	if err == nil && advances {
		err = e.advance(ctx, l, l.viewAfterAnswer(out))
	}
	if err != nil { // the store has the answer; a sweep completes the follow-up
		e.Logger.Warn("follow-up of an accepted answer failed; a sweep completes it", "match", l.plan.ID, "error", err)
	}
}

// viewAfterAnswer returns the local state after an accepted answer. It is empty
// if the push of a duel is unknown or the match has moved on.
func (l *localMatch) viewAfterAnswer(out Outcome) View {
	s, pushUnknown := l.knownState(), l.plan.Mode == Duel && out.Seq == 0
	if pushUnknown || out.Sealed || s.Phase != Open || s.Question != out.Record.Question {
		return View{}
	}
	s.Answered, s.Alive = out.Answered, out.Alive
	return View{State: s}
}

func doNothing() {}

// refuse counts a refusal by its reason.
func (e *Engine) refuse(err error) (protocol.Answered, func(), error) {
	reason := "failed"
	var refused *protocol.Error
	if errors.As(err, &refused) {
		reason = string(refused.Code)
	}
	e.metrics.answers.WithLabelValues(reason).Inc()
	return protocol.Answered{}, doNothing, err
}

func notInMatch() error {
	return protocol.Errorf(protocol.CodeNotInMatch, "you have no seat in this match, or the match has expired")
}

func notOpen(question int) error {
	return protocol.Errorf(protocol.CodeQuestionNotOpen, "question %d is not open yet", question)
}

func eliminated() error {
	return protocol.Errorf(protocol.CodeEliminated, "you are eliminated; you may continue to watch")
}
