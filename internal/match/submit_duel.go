package match

import (
	"context"
	"maps"

	"laststand/internal/protocol"
)

// commitDuelAnswer lets one answer at a time from this node be stored, and delivers its
// pushes here. The pushes to the player's own session wait for the reply, see Answer.
func (j *judge) commitDuelAnswer(ctx context.Context, local *localMatch, attempt Attempt) (committed, error) {
	if err := local.takeAnswerSlot(ctx); err != nil {
		return committed{}, err
	}
	defer local.releaseAnswerSlot()
	if view := local.viewWithLastAnswer(attempt.Record); view != nil {
		if c, err := j.commitLastAnswer(ctx, local, attempt, view); err != nil || c.chain != nil {
			return c, err
		}
	}
	outcome, err := j.Answers.Commit(ctx, attempt)
	c := committed{Outcome: outcome}
	if err == nil && outcome.Seq > 0 {
		local.updateVersion(outcome.Version)
		local.answered = viewAfterAnswer(local, outcome)
		c.view, c.frames = local.answered, encodeFrames([]protocol.NumberedPush{*attempt.Push}, outcome.Seq)
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
	local.answered = nil
	steps.deliverChain(&chain)
	j.armTimer(local)
	return committed{Outcome: Outcome{Verdict: VerdictAccepted, Record: attempt.Record, Version: chain.NewState.Version}, chain: &chain}, nil
}

// viewWithLastAnswer returns what this node knows of a duel if a record becomes the last one
// of the question. It returns nil if this node does not know all others, or if the duel
// has changed since. The caller holds answerSlot.
func (l *localMatch) viewWithLastAnswer(record Record) *View {
	if l.answered == nil {
		return nil
	}
	view := *l.answered
	_, isRepeated := view.Records[record.Player]
	if view.Question != record.Question || view.Version != l.knownVersion() || isRepeated ||
		int64(len(view.Records))+1 != view.Alive || record.ArrivedAt > view.ClosesAt {
		return nil
	}
	view.Records, view.Totals = maps.Clone(view.Records), maps.Clone(view.Totals)
	view.Records[record.Player], view.Totals[record.Player] = record, view.Totals[record.Player].withRecord(record)
	view.countAnswers()
	return &view
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
