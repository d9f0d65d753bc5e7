package match

import (
	"context"
	"errors"

	"laststand/internal/protocol"
)

// replier replies to answers and pushes their effects.
type replier struct{ *advancer }

// replyToOutcome turns an outcome into the reply and the function that runs
// after it.
func (r *replier) replyToOutcome(local *localMatch, outcome Outcome, answer validAnswer) (protocol.Answered, func(), error) {
	record := outcome.Record
	switch outcome.Verdict {
	case VerdictAccepted:
		r.metrics.answers.WithLabelValues(string(VerdictAccepted)).Inc()
		return acceptedReply(local.plan, record), r.followUpFunc(local, outcome), nil
	case VerdictDuplicate:
		if record.Normalized == answer.normal {
			r.metrics.answers.WithLabelValues("repeated").Inc()
			return acceptedReply(local.plan, record), doNothing, nil
		}
		err := protocol.Errorf(protocol.CodeDuplicateAnswer, "you have already answered question %d", answer.question)
		err.Accepted = acceptedAnswerView(record)
		return r.countRefusal(err)
	case VerdictEarly:
		return r.countRefusal(questionNotOpenError(answer.question))
	case VerdictLate:
		return r.countRefusal(protocol.Errorf(protocol.CodeQuestionClosed, "question %d is closed", answer.question))
	case VerdictEliminated:
		return r.countRefusal(eliminatedError())
	case VerdictLockedOut:
		return r.countRefusal(protocol.RetryAfter(protocol.CodeQuestionNotOpen, outcome.RetryMS, "your team has answered wrong and must wait"))
	}
	return r.countRefusal(notInMatchError())
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
func (r *replier) followUpFunc(local *localMatch, outcome Outcome) func() {
	pushUnknown := local.plan.Mode == Duel && outcome.Seq == 0
	advances := pushUnknown || outcome.Sealed || outcome.Answered >= outcome.Alive
	if outcome.Seq == 0 && !advances {
		return doNothing
	}
	outcomeCopy := outcome // copy it only on this path
	return func() { r.followUpAnswer(local, outcomeCopy, advances) }
}

// followUpAnswer pushes that an answer was accepted, if the mode does so. If the
// answer was the last one or the winning one, it closes the question. If the
// push number is unknown, advancing pushes it from the log.
func (r *replier) followUpAnswer(local *localMatch, outcome Outcome, advances bool) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var err error
	if outcome.Seq > 0 {
		seenPush := answerSeenPush(local.plan, outcome.Record.Question, outcome.Record.Player)
		encoded := encodeFrames([]protocol.NumberedPush{seenPush}, outcome.Seq)
		r.publishStep(ctx, local, outcome.Nodes, stepEvent{frames: encoded, version: outcome.Version})
		err = r.handleLoss(ctx, local, r.deliverOrCatchUp(ctx, local, delivery{frames: encoded}))
	}
	if err == nil && advances {
		err = r.advance(ctx, local, viewAfterAnswer(local, outcome))
	}
	if err != nil { // the store has the answer; a sweep completes the follow-up
		r.Logger.Warn("follow-up of an accepted answer failed; a sweep completes it", "match", local.plan.ID, "error", err)
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
func (r *replier) countRefusal(err error) (protocol.Answered, func(), error) {
	reason := "failed"
	var refused *protocol.Error
	if errors.As(err, &refused) {
		reason = string(refused.Code)
	}
	r.metrics.answers.WithLabelValues(reason).Inc()
	return protocol.Answered{}, doNothing, err
}
