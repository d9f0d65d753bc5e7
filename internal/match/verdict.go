package match

import (
	"context"
	"errors"

	"laststand/internal/protocol"
)

// replyToOutcome turns an outcome into the reply and the function that runs
// after it.
func (a *answers) replyToOutcome(local *localMatch, outcome Outcome, answer validAnswer) (protocol.Answered, func(), error) {
	record := outcome.Record
	switch outcome.Verdict {
	case VerdictAccepted:
		a.metrics.answers.WithLabelValues(string(VerdictAccepted)).Inc()
		return acceptedReply(local.plan, record), a.followUpFunc(local, outcome), nil
	case VerdictDuplicate:
		if record.Normalized == answer.normal {
			a.metrics.answers.WithLabelValues("repeated").Inc()
			return acceptedReply(local.plan, record), doNothing, nil
		}
		err := protocol.Errorf(protocol.CodeDuplicateAnswer, "you have already answered question %d", answer.question)
		err.Accepted = acceptedAnswerView(record)
		return a.countRefusal(err)
	case VerdictEarly:
		return a.countRefusal(questionNotOpenError(answer.question))
	case VerdictLate:
		return a.countRefusal(protocol.Errorf(protocol.CodeQuestionClosed, "question %d is closed", answer.question))
	case VerdictEliminated:
		return a.countRefusal(eliminatedError())
	case VerdictLockedOut:
		return a.countRefusal(protocol.RetryAfter(protocol.CodeQuestionNotOpen, outcome.RetryMS, "your team has answered wrong and must wait"))
	}
	return a.countRefusal(notInMatchError())
}

// acceptedReply returns the reply to an accepted answer. In a buzzer match it
// tells the sender immediately whether the answer is right, because the first right
// answer closes the question.
func acceptedReply(plan *Plan, record Record) protocol.Answered {
	reply := protocol.Answered{Question: record.Question, At: record.ArrivedAt, ElapsedMS: record.ElapsedMS}
	if plan.Mode == Buzzer {
		reply.Correct, reply.First = &record.Correct, &record.First
	}
	return reply
}

// followUpFunc returns what to do after the reply to an accepted answer. Most
// answers need nothing.
func (a *answers) followUpFunc(local *localMatch, outcome Outcome) func() {
	pushUnknown := local.plan.Mode == Duel && outcome.Seq == 0
	advances := pushUnknown || outcome.Sealed || outcome.Answered >= outcome.Alive
	if outcome.Seq == 0 && !advances {
		return doNothing
	}
	outcomeCopy := outcome // copy it only on this path
	return func() { a.followUpAnswer(local, outcomeCopy, advances) }
}

// followUpAnswer pushes that an answer was accepted, if the mode does so. If the
// answer was the last one or the winning one, it closes the question. If the
// push number is unknown, advancing pushes it from the log.
func (a *answers) followUpAnswer(local *localMatch, outcome Outcome, advances bool) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var err error
	if outcome.Seq > 0 {
		seenPush := answerSeenPush(local.plan, outcome.Record.Question, outcome.Record.Player)
		encoded := encodeFrames([]protocol.NumberedPush{seenPush}, outcome.Seq)
		a.publishStep(ctx, local, outcome.Nodes, stepEvent{frames: encoded, version: outcome.Version})
		err = a.deliverOrCatchUp(ctx, local, delivery{frames: encoded})
	}
	if err == nil && advances {
		err = a.advance(ctx, local, viewAfterAnswer(local, outcome))
	}
	if err != nil { // the store has the answer; a sweep completes the follow-up
		a.Logger.Warn("follow-up of an accepted answer failed; a sweep completes it", "match", local.plan.ID, "error", err)
	}
}

// viewAfterAnswer returns the local state after an accepted answer. It is empty
// if the push of a duel is unknown or the match has moved on.
func viewAfterAnswer(local *localMatch, outcome Outcome) View {
	state, pushUnknown := local.knownState(), local.plan.Mode == Duel && outcome.Seq == 0
	if pushUnknown || outcome.Sealed || state.Phase != PhaseOpen || state.Question != outcome.Record.Question {
		return View{}
	}
	state.Answered, state.Alive = outcome.Answered, outcome.Alive
	return View{State: state}
}

func doNothing() {}

// countRefusal counts a refusal by its reason.
func (a *answers) countRefusal(err error) (protocol.Answered, func(), error) {
	reason := "failed"
	var refused *protocol.Error
	if errors.As(err, &refused) {
		reason = string(refused.Code)
	}
	a.metrics.answers.WithLabelValues(reason).Inc()
	return protocol.Answered{}, doNothing, err
}

func notInMatchError() error {
	return protocol.Errorf(protocol.CodeNotInMatch, "you have no seat in this match, or the match has expired")
}

func questionNotOpenError(question int) error {
	return protocol.Errorf(protocol.CodeQuestionNotOpen, "question %d is not open yet", question)
}

func eliminatedError() error {
	return protocol.Errorf(protocol.CodeEliminated, "you are eliminated; you may continue to watch")
}
