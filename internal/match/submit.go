package match

import (
	"context"
	"errors"

	"laststand/internal/protocol"
)

// commitAnswer submits a judged answer. If this node judged by an outdated opening
// time, it reads the match and judges again.
func (e *Engine) commitAnswer(ctx context.Context, local *localMatch, submission Submission, answer validAnswer) (Outcome, error) {
	attempt := e.newAttempt(local, answer)
	state := local.knownState()
	for range 3 {
		if state.Question == answer.question {
			attempt.Record, attempt.OpensAt, attempt.SeenVersion = judgeAnswer(local.plan, state, answer, submission), state.OpensAt, local.knownVersion()
			attempt.Record.Node = e.Node
			outcome, err := e.submitAttempt(ctx, local, attempt)
			local.updateVersion(outcome.Version)
			if err != nil || outcome.Verdict != VerdictStale {
				return outcome, e.handleLoss(ctx, local, err)
			}
		}
		view, err := e.read(ctx, local, -1, submission.Player)
		if err != nil {
			return Outcome{}, e.handleLoss(ctx, local, err)
		}
		if answer.question != view.Question {
			return e.outcomeForOtherQuestion(ctx, local, submission.Player, answer.question, view)
		}
		state = view.State
	}
	return Outcome{}, protocol.RetryAfter(protocol.CodeUnavailable, 100, "the question is changing; send the answer again")
}

// newAttempt returns an attempt without the record, which depends on the state.
func (e *Engine) newAttempt(local *localMatch, answer validAnswer) Attempt {
	attempt := Attempt{
		Match: local.plan.ID, ID: e.attemptID(), Seat: answer.seat, Mode: local.plan.Mode, LimitMS: local.plan.LimitMS,
		TTLMS: local.plan.maxDurationMS() + lockTTLSlackMS,
	}
	if local.plan.Arena != nil {
		attempt.LockoutMS = local.plan.Arena.TeamLockoutMS
	}
	if local.plan.Mode == Duel {
		seenPush := answerSeenPush(local.plan, answer.question, answer.seat.Player)
		attempt.Push = &seenPush
	}
	return attempt
}

func answerSeenPush(plan *Plan, question int, player string) protocol.NumberedPush {
	return newPush(plan, protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: question, Player: player})
}

// submitAttempt passes an attempt to the store. A right answer in a buzzer match
// competes with those of all nodes for the question.
func (e *Engine) submitAttempt(ctx context.Context, local *localMatch, attempt Attempt) (Outcome, error) {
	if attempt.Mode == Buzzer && attempt.Record.Correct {
		return e.commitFirstAnswer(ctx, local, attempt)
	}
	return e.Store.Commit(ctx, attempt)
}

// commitFirstAnswer lets one right answer at a time from this node try to be first. If the
// question is known to be won, it only checks whether the answer repeats an
// accepted one.
func (e *Engine) commitFirstAnswer(ctx context.Context, local *localMatch, attempt Attempt) (Outcome, error) {
	outcome, committed, err := e.tryCommitIfFirst(ctx, local, attempt)
	if err != nil || committed {
		return outcome, err
	}
	e.metrics.droppedRaces.Inc()
	return e.outcomeForClosedQuestion(ctx, local, attempt.Record.Player, attempt.Record.Question)
}

func (e *Engine) tryCommitIfFirst(ctx context.Context, local *localMatch, attempt Attempt) (outcome Outcome, committed bool, err error) {
	if local.isQuestionWon(attempt.Record.Question) {
		return Outcome{}, false, nil
	}
	select {
	case local.raceSlot <- struct{}{}:
	case <-ctx.Done():
		return Outcome{}, false, ctx.Err()
	}
	defer func() { <-local.raceSlot }()
	if local.isQuestionWon(attempt.Record.Question) {
		return Outcome{}, false, nil
	}
	outcome, err = e.Store.CommitIfFirst(ctx, attempt)
	if err == nil && (outcome.Verdict == VerdictAccepted || outcome.Verdict == VerdictLate) {
		local.noteQuestionWon(attempt.Record)
	}
	return outcome, true, err
}

// isQuestionWon reports whether no answer can be first on a question any more.
func (l *localMatch) isQuestionWon(question int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastWonQuestion >= question || l.state.Question > question || l.state.Question == question && l.state.Phase != PhaseOpen
}

// noteQuestionWon records that the question of an answer is won or closed. It ignores
// an answer that was late itself, because that says nothing about earlier
// answers.
func (l *localMatch) noteQuestionWon(record Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if record.Question == l.state.Question && record.ArrivedAt <= l.state.ClosesAt {
		l.lastWonQuestion = max(l.lastWonQuestion, record.Question)
	}
}

// outcomeForOtherQuestion returns the outcome of an answer to a question that is not the
// current one. The question has not opened yet, or it is closed and may have
// been answered.
func (e *Engine) outcomeForOtherQuestion(ctx context.Context, local *localMatch, player string, question int, view View) (Outcome, error) {
	switch {
	case question > view.Question:
		return Outcome{Verdict: VerdictEarly}, nil
	case local.plan.Mode == Survival && view.isEliminated(view.Totals[player]):
		return Outcome{Verdict: VerdictEliminated}, nil
	}
	return e.outcomeForClosedQuestion(ctx, local, player, question)
}

// outcomeForClosedQuestion returns the outcome of an answer to a closed question.
func (e *Engine) outcomeForClosedQuestion(ctx context.Context, local *localMatch, player string, question int) (Outcome, error) {
	record, ok, err := e.Store.Record(ctx, local.plan.ID, player, question)
	if err != nil {
		return Outcome{}, err
	}
	if ok {
		return Outcome{Verdict: VerdictDuplicate, Record: record}, nil
	}
	return Outcome{Verdict: VerdictLate}, nil
}

// asNotInMatchError turns ErrNotFound into the refusal for a match that the player
// is not in.
func asNotInMatchError(err error) error {
	if errors.Is(err, ErrNotFound) {
		return notInMatchError()
	}
	return err
}
