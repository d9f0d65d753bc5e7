package match

import (
	"context"
	"time"

	"laststand/internal/protocol"
)

// commitDuelAnswer lets one answer at a time from this node be accepted by a step, and delivers
// the pushes here. The pushes to the player's own session wait for the reply, see Answer. The
// verdict is VerdictStale if this node must read the duel first, because it does not know all
// other answers, or because another node was faster, or after awaitClose.
func (j *judge) commitDuelAnswer(ctx context.Context, local *localMatch, attempt Attempt, isFresh bool) (answerOutcome, error) {
	if state := local.knownState(); state.isLate(attempt.Record) {
		if attempt.Seat.Bot { // its answer runs on a worker of the wheel, which must not wait
			return answerOutcome{Outcome: Outcome{Verdict: VerdictLate}}, nil
		}
		return answerOutcome{Outcome: Outcome{Verdict: VerdictStale}}, j.awaitClose(ctx, local, state)
	}
	if err := local.answerSlot.take(ctx); err != nil {
		return answerOutcome{}, err
	}
	defer local.answerSlot.release()
	answer, view, outcome := local.nextAnswer(attempt)
	if outcome.Verdict == VerdictAccepted {
		return j.commitAnswerStep(ctx, local, answer, view)
	}
	if !isFresh { // the store may know better
		outcome.Verdict = VerdictStale
	}
	return answerOutcome{Outcome: outcome}, nil
}

// awaitClose closes a question of a duel when its time is over, unless it is extended before
// that. A late answer must wait for that: until then the store may still accept the same
// answer from another node, which has received it in time and then stalled.
func (j *judge) awaitClose(ctx context.Context, local *localMatch, state State) error {
	select {
	case <-time.After(time.Duration(state.DueAt-j.Now()) * time.Millisecond):
		return j.advance(ctx, local, View{})
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commitAnswerStep asks the store to accept an answer by a step. If it is the last answer to
// the question, it asks for the steps that follow from it, too. view is what is known with the
// answer.
func (j *judge) commitAnswerStep(ctx context.Context, local *localMatch, answer *StepAnswer, view View) (answerOutcome, error) {
	steps, record := stepRun{localDelivery: j.localDelivery, match: local}, answer.Record
	accept := newStep(local.plan, view, view.State)
	accept.Version, accept.Answer = view.Version, answer
	accept.Pushes = []protocol.NumberedPush{answerSeenPush(local.plan, record.Question, record.Player)}
	chain := stepChain{Step: accept, last: view}
	if view.hasAllAnswers() {
		reveal, _ := nextStep(local.plan, view, j.Now(), 0)
		chain = steps.chainFrom(reveal, view)
		chain.Step = accept.followedBy(chain.Step)
	}
	applied, err := steps.applyChain(ctx, &chain)
	switch {
	case err != nil:
		return answerOutcome{}, err
	case !applied:
		return answerOutcome{Outcome: Outcome{Verdict: VerdictStale}}, nil
	case len(chain.phases) > 0:
		steps.deliverChain(&chain)
		j.armTimer(local)
	default:
		j.deliver(local, delivery{frames: chain.frames})
	}
	return answerOutcome{Outcome: Outcome{Verdict: VerdictAccepted, Record: record}, chain: &chain}, nil
}

// answerOutcome is the outcome of an answer.
type answerOutcome struct {
	Outcome
	chain *stepChain // of a duel: the steps that the store has applied with the answer, and this node has delivered
}
