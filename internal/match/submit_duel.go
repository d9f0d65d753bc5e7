package match

import (
	"context"

	"laststand/internal/protocol"
)

// commitDuelAnswer lets one answer at a time from this node be stored, and delivers its
// pushes here. The pushes to the player's own session wait for the reply, see Answer. If this
// node knows all other answers, a step accepts the answer. Otherwise, or if the duel has
// changed, the store must judge it.
func (j *judge) commitDuelAnswer(ctx context.Context, local *localMatch, attempt Attempt) (answerOutcome, error) {
	if err := local.answerSlot.take(ctx); err != nil {
		return answerOutcome{}, err
	}
	defer local.answerSlot.release()
	if answer, view, known := local.nextAnswer(attempt); known {
		if c, err := j.commitAnswerStep(ctx, local, answer, view); err != nil || c.chain != nil {
			return c, err
		}
	}
	outcome, err := j.Answers.Commit(ctx, attempt)
	local.noteReply(outcome)
	c := answerOutcome{Outcome: outcome}
	if err == nil && outcome.Seq > 0 {
		c.view = noteOutcome(local, outcome)
		c.frames = encodeFrames([]protocol.NumberedPush{*attempt.Push}, outcome.Seq)
		j.deliver(local, delivery{frames: c.frames})
	}
	return c, err
}

// commitAnswerStep asks the store to accept an answer by a step. If it is the last answer to
// the question, it asks for the steps that follow from it, too. view is what is known with the
// answer. Without a chain in the result, the match has changed.
func (j *judge) commitAnswerStep(ctx context.Context, local *localMatch, answer *StepAnswer, view View) (answerOutcome, error) {
	steps := stepRun{localDelivery: j.localDelivery, match: local}
	accept := newStep(local.plan, view, view.State)
	accept.Version, accept.Answer, accept.Pushes = view.Version, answer, []protocol.NumberedPush{*answer.Push}
	chain := stepChain{Step: accept, last: view}
	if view.hasAllAnswers() {
		reveal, _ := nextStep(local.plan, view, j.Now(), 0)
		chain = steps.chainFrom(reveal, view)
		chain.Step = accept.followedBy(chain.Step)
	}
	applied, err := steps.applyChain(ctx, &chain)
	if err != nil || !applied {
		return answerOutcome{}, err
	}
	if len(chain.phases) > 0 {
		steps.deliverChain(&chain)
		j.armTimer(local)
	} else {
		j.deliver(local, delivery{frames: chain.frames})
	}
	return answerOutcome{Outcome: Outcome{Verdict: VerdictAccepted, Record: answer.Record, Version: chain.NewState.Version}, chain: &chain}, nil
}

// noteOutcome notes the reply of the store to an accepted answer of a duel. It returns the
// view after the answer, with all records if this node knows them. It returns nil if the duel
// has moved on. It keeps no answers if this node lacks an earlier push, because that may have
// extended the question.
func noteOutcome(local *localMatch, outcome Outcome) *View {
	local.mu.Lock()
	defer local.mu.Unlock()
	view := &View{State: local.state, Records: outcome.Records, Totals: outcome.Totals}
	if view.Phase != PhaseOpen || view.Question != outcome.Record.Question {
		return nil
	}
	if outcome.Answered == 1 { // the only one
		view.Records = map[string]Record{outcome.Record.Player: outcome.Record}
	}
	stateVersion := view.Version
	view.Version, view.Alive, view.Answered, view.Right = outcome.Version, outcome.Alive, outcome.Answered, 0
	for _, record := range view.Records {
		if record.Correct {
			view.Right++
		}
	}
	if outcome.Seq == local.state.Seq+1 {
		local.duel = local.duel.newerAnswers(local.plan, *view, stateVersion)
	}
	return view
}

// answerOutcome is the outcome of an answer. In a duel this node has delivered the pushes, and
// knows what to tell the other nodes.
type answerOutcome struct {
	Outcome
	frames numberedFrames // the push about the answer; of a duel
	view   *View          // of a duel after the answer, as far as this node knows it; nil: unknown, or see chain
	chain  *stepChain     // the steps that the store has applied together with the answer; nil: the store judged it
}
