package match

import (
	"context"

	"laststand/internal/protocol"
)

// commitDuelAnswer lets one answer at a time from this node be stored, and delivers its
// pushes here. The pushes to the player's own session wait for the reply, see Answer.
func (j *judge) commitDuelAnswer(ctx context.Context, local *localMatch, attempt Attempt) (committed, error) {
	slot := &local.answerSlot
	if err := slot.take(ctx); err != nil {
		return committed{}, err
	}
	defer slot.release()
	if view := slot.viewWithLastAnswer(attempt.Record, local.knownVersion()); view != nil {
		if c, err := j.commitLastAnswer(ctx, local, attempt, view); err != nil || c.chain != nil {
			return c, err
		}
	}
	outcome, err := j.Answers.Commit(ctx, attempt)
	c := committed{Outcome: outcome}
	if err == nil && outcome.Seq > 0 {
		local.updateVersion(outcome.Version)
		slot.answered = viewAfterAnswer(local, outcome)
		c.view, c.frames = slot.answered, encodeFrames([]protocol.NumberedPush{*attempt.Push}, outcome.Seq)
		j.deliver(local, delivery{frames: c.frames})
	}
	return c, err
}

// commitLastAnswer asks the store to accept the last answer to a question together with the
// steps that follow from it. Without a chain in the result, the match has changed, and the
// store must judge the answer.
func (j *judge) commitLastAnswer(ctx context.Context, local *localMatch, attempt Attempt, view *View) (committed, error) {
	steps := stepRun{localDelivery: j.localDelivery, match: local}
	reveal, _ := nextStep(local.plan, *view, j.Now(), 0)
	chain := steps.chainFrom(reveal, *view)
	accept := Step{
		FromPhase: view.Phase, Question: view.Question, Version: view.Version, Pushes: []protocol.NumberedPush{*attempt.Push},
		Answer: &LastAnswer{attempt, view.Totals[attempt.Record.Player]},
	}
	chain.Step = accept.followedBy(chain.Step)
	chain.revealedPushes++
	applied, err := steps.applyChain(ctx, &chain)
	if err != nil || !applied {
		return committed{}, err
	}
	local.answerSlot.answered = nil
	steps.deliverChain(&chain)
	j.armTimer(local)
	return committed{Outcome: Outcome{Verdict: VerdictAccepted, Record: attempt.Record, Version: chain.NewState.Version}, chain: &chain}, nil
}

// viewAfterAnswer returns what this node knows of a duel after an accepted answer, with all
// records if it knows them. It is nil if the duel has moved on. An extension of the
// question that has not arrived here may be missing; it has no effect once the question is
// closed.
func viewAfterAnswer(local *localMatch, outcome Outcome) *View {
	view := &View{State: local.knownState(), Records: outcome.Records, Totals: outcome.Totals}
	if view.Phase != PhaseOpen || view.Question != outcome.Record.Question {
		return nil
	}
	if outcome.Answered == 1 { // the only one
		view.Records = map[string]Record{outcome.Record.Player: outcome.Record}
	}
	view.Version, view.Alive = outcome.Version, outcome.Alive
	view.countAnswers()
	return view
}

// countAnswers counts the records, which are all of the question.
func (v *View) countAnswers() {
	v.Answered, v.Right = int64(len(v.Records)), 0
	for _, record := range v.Records {
		if record.Correct {
			v.Right++
		}
	}
}
