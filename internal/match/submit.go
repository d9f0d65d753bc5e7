package match

import (
	"context"

	"laststand/internal/protocol"
)

// commitAnswer submits a judged answer. If this node judged by an outdated state, it reads
// the match and judges again. Many answers to a buzzer question come after the next question
// has opened; they need no read of the match.
func (j *judge) commitAnswer(ctx context.Context, local *localMatch, submission Submission, answer validAnswer) (answerOutcome, error) {
	attempt := j.newAttempt(local, answer)
	state := local.knownState()
	for try := range 3 {
		if state.Question == answer.question {
			if local.plan.ReadingMS > 0 && submission.ArrivedAt < state.readsUntil(local.plan) {
				return answerOutcome{Outcome: Outcome{Verdict: VerdictEarly}}, nil
			}
			attempt.Record, attempt.OpensAt, attempt.Seen = judgeAnswer(local.plan, state, answer, submission), state.OpensAt, local.knownSeen()
			attempt.Record.Node, attempt.ExtraMS = j.Node, state.extraMS(local.plan, submission.Player)
			outcome, err := j.submitAttempt(ctx, local, attempt, try > 0)
			if err != nil || outcome.Verdict != VerdictStale {
				return outcome, j.handleLoss(ctx, local, err)
			}
		}
		if answer.question < state.Question && local.plan.Mode != Survival {
			outcome, err := j.outcomeForClosedQuestion(ctx, local, submission.Player, answer.question)
			return answerOutcome{Outcome: outcome}, err
		}
		view, err := j.refresh(ctx, local, submission.Player)
		if err != nil {
			return answerOutcome{}, err
		}
		if answer.question != view.Question {
			outcome, err := j.outcomeForOtherQuestion(ctx, local, submission.Player, answer.question, view)
			return answerOutcome{Outcome: outcome}, err
		}
		state = view.State
	}
	return answerOutcome{}, protocol.RetryAfter(protocol.CodeUnavailable, 100, "the question is changing; send the answer again")
}

// newAttempt returns an attempt without the record, which depends on the state.
func (j *judge) newAttempt(local *localMatch, answer validAnswer) Attempt {
	attempt := Attempt{
		Match: local.plan.ID, ID: j.attemptID(), Seat: answer.seat, Mode: local.plan.Mode,
		Streak: local.plan.scoring().Streak * local.plan.Multiplier(answer.question),
	}
	if local.plan.Arena != nil {
		attempt.LockoutMS = local.plan.Arena.TeamLockoutMS
	}
	return attempt
}

// submitAttempt passes an attempt to the store. A right answer in a buzzer match
// competes with those of all nodes for the question. isFresh is true if this node has just
// read the match.
func (j *judge) submitAttempt(ctx context.Context, local *localMatch, attempt Attempt, isFresh bool) (answerOutcome, error) {
	var outcome Outcome
	var err error
	switch {
	case attempt.Mode == Duel:
		return j.commitDuelAnswer(ctx, local, attempt, isFresh)
	case attempt.Mode == Buzzer && attempt.Record.Correct:
		outcome, err = j.commitFirstAnswer(ctx, local, attempt)
	default:
		outcome, err = j.Answers.Commit(ctx, attempt)
	}
	local.noteReply(outcome)
	return answerOutcome{Outcome: outcome}, err
}

// commitFirstAnswer lets one right answer at a time from this node try to be first. If the
// question is known to be won, it only checks whether the answer repeats an
// accepted one.
func (j *judge) commitFirstAnswer(ctx context.Context, local *localMatch, attempt Attempt) (Outcome, error) {
	outcome, wasTried, err := j.tryCommitIfFirst(ctx, local, attempt)
	if err != nil || wasTried {
		return outcome, err
	}
	j.metrics.droppedRaces.Inc()
	return j.outcomeForClosedQuestion(ctx, local, attempt.Record.Player, attempt.Record.Question)
}

func (j *judge) tryCommitIfFirst(ctx context.Context, local *localMatch, attempt Attempt) (outcome Outcome, wasTried bool, err error) {
	question := attempt.Record.Question
	slot := &local.answerSlot
	if local.knownState().isClosed(question) {
		return Outcome{}, false, nil
	}
	if err := slot.take(ctx); err != nil {
		return Outcome{}, false, err
	}
	defer slot.release()
	if slot.lastClosed >= question || local.knownState().isClosed(question) {
		return Outcome{}, false, nil
	}
	outcome, err = j.Answers.CommitIfFirst(ctx, attempt)
	// An answer that was late itself says nothing about earlier answers.
	if err == nil && (outcome.Verdict == VerdictAccepted || outcome.Verdict == VerdictLate && attempt.Record.ArrivedAt <= local.knownState().ClosesAt) {
		slot.lastClosed = max(slot.lastClosed, question)
	}
	return outcome, true, err
}

// outcomeForOtherQuestion returns the outcome of an answer to a question that is not the
// current one. The question has not opened yet, or it is closed and may have
// been answered.
func (j *judge) outcomeForOtherQuestion(ctx context.Context, local *localMatch, player string, question int, view View) (Outcome, error) {
	switch {
	case question > view.Question:
		return Outcome{Verdict: VerdictEarly}, nil
	case local.plan.Mode == Survival && view.isEliminated(view.Totals[player]):
		return Outcome{Verdict: VerdictEliminated}, nil
	}
	return j.outcomeForClosedQuestion(ctx, local, player, question)
}

// outcomeForClosedQuestion returns the outcome of an answer to a closed question.
func (j *judge) outcomeForClosedQuestion(ctx context.Context, local *localMatch, player string, question int) (Outcome, error) {
	record, ok, err := j.Answers.Record(ctx, local.plan.ID, player, question)
	if err != nil {
		return Outcome{}, err
	}
	if ok {
		return Outcome{Verdict: VerdictDuplicate, Record: record}, nil
	}
	return Outcome{Verdict: VerdictLate}, nil
}
