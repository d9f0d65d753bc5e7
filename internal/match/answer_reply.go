package match

import (
	"context"
	"errors"

	"laststand/internal/protocol"
)

// replyToOutcome turns an outcome into the reply and the function that runs
// after it.
func (j *judge) replyToOutcome(local *localMatch, outcome answerOutcome, answer validAnswer) (protocol.Answered, func(), error) {
	record := outcome.Record
	switch outcome.Verdict {
	case VerdictAccepted:
		j.metrics.answers.WithLabelValues(string(VerdictAccepted)).Inc()
		return acceptedReply(local.plan, record), j.followUpFunc(local, outcome), nil
	case VerdictDuplicate:
		if record.Normalized == answer.normal {
			j.metrics.answers.WithLabelValues("repeated").Inc()
			return acceptedReply(local.plan, record), doNothing, nil
		}
		err := protocol.Errorf(protocol.CodeDuplicateAnswer, "you have already answered question %d", answer.question)
		err.Accepted = acceptedAnswerView(record)
		return j.countRefusal(err)
	case VerdictEarly:
		return j.countRefusal(questionNotOpenError(answer.question))
	case VerdictLate:
		return j.countRefusal(protocol.Errorf(protocol.CodeQuestionClosed, "question %d is closed", answer.question))
	case VerdictEliminated:
		return j.countRefusal(eliminatedError())
	case VerdictLockedOut:
		return j.countRefusal(protocol.RetryAfter(protocol.CodeQuestionNotOpen, outcome.RetryMS, "your team has answered wrong and must wait"))
	}
	return j.countRefusal(notInMatchError())
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
func (j *judge) followUpFunc(local *localMatch, outcome answerOutcome) func() {
	switch chain := outcome.chain; {
	case chain != nil && (chain.NewState.Phase == PhaseOver || j.hasOtherNodes(chain.nodes)):
		return func() { j.announceSteps(local, chain) }
	case chain == nil && (outcome.Sealed || outcome.Answered >= outcome.Alive):
		return func() { j.closeQuestion(local) }
	}
	return doNothing
}

// announceSteps tells the other nodes of steps that the store has applied together with an
// answer.
func (j *judge) announceSteps(local *localMatch, chain *stepChain) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	(&stepRun{localDelivery: j.localDelivery, match: local}).announceChain(ctx, chain)
}

// closeQuestion closes a question of an arena after the last answer or the winning one.
func (j *judge) closeQuestion(local *localMatch) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := j.advance(ctx, local, View{}); err != nil { // the store has the answer; a sweep completes the follow-up
		j.Logger.Warn("follow-up of an accepted answer failed; a sweep completes it", "match", local.plan.ID, "error", err)
	}
}

func doNothing() {}

// countRefusal counts a refusal by its reason.
func (j *judge) countRefusal(err error) (protocol.Answered, func(), error) {
	reason := "failed"
	var refused *protocol.Error
	if errors.As(err, &refused) {
		reason = string(refused.Code)
	}
	j.metrics.answers.WithLabelValues(reason).Inc()
	return protocol.Answered{}, doNothing, err
}
