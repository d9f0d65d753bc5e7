package match

import "laststand/internal/protocol"

const (
	// answerGraceMS is the delay between closes_at and the reveal of a question.
	// Answers that arrived in time may still be on their way to the store.
	answerGraceMS = 150
	// maxLateOpeningMS is the delay up to which a question is recorded as opened on time.
	// After a longer delay it opens at the actual time.
	maxLateOpeningMS = 100
	// minOutageMS is the delay of a reveal that counts as an outage. The lost time
	// is then added to the question.
	minOutageMS = 1000
	// maxHostAbsenceMS is how long a host may be away before the arena continues
	// without one.
	maxHostAbsenceMS = 60_000
	// endedTTLMS is how long a match can be read after it is over.
	endedTTLMS = 6 * 60 * 1000
)

func openStep(plan *Plan, view View, question int, opensAt int64) Step {
	newState := view.State
	newState.Phase, newState.Question, newState.CloseReason, newState.Extended = PhaseOpen, question, "", false
	newState.Answered, newState.Right, newState.First = 0, 0, nil
	newState.OpensAt, newState.ClosesAt = opensAt, opensAt+plan.ReadingMS+plan.Limit(question)
	newState.DueAt = newState.lastClosesAt(plan) + answerGraceMS
	if question == 0 {
		newState.StartedAt = opensAt
	}
	if plan.Mode == Buzzer || plan.Mode == Race {
		newState.Alive = view.Players - view.LeftSeats
	}
	step := newVersionedStep(plan, view, newState)
	step.Pushes = []protocol.NumberedPush{newPush(plan, protocol.TypeQuestion, questionView(plan, newState))}
	return step
}

// extendStep adds lost time to the open question, at most its full limit. The
// store refuses the step if an answer arrives first.
func extendStep(plan *Plan, view View, lostMS, now int64) Step {
	newState := view.State
	newState.Extended = true
	newState.ClosesAt = max(view.ClosesAt, now) + min(lostMS, plan.Limit(view.Question))
	newState.DueAt = newState.lastClosesAt(plan) + answerGraceMS
	step := newStep(plan, view, newState)
	step.Version = view.Version
	step.Pushes = []protocol.NumberedPush{newPush(plan, protocol.TypeQuestionExtended,
		protocol.QuestionExtended{Question: view.Question, ClosesAt: newState.ClosesAt})}
	return step
}

// canExtend reports whether time lost to an outage may be added to the open
// question.
func (v View) canExtend() bool { return v.Phase == PhaseOpen && v.Answered == 0 && !v.Extended }

// sealStep ends an open question at any version of the match, also while answers keep
// coming. The records must be read again before the reveal.
func sealStep(plan *Plan, view View, reason string, now int64) Step {
	newState := view.State
	newState.Phase, newState.CloseReason, newState.DueAt = PhaseSealed, reason, now
	return newStep(plan, view, newState)
}

func revealStep(plan *Plan, view View, now int64) Step {
	newState := view.State
	newState.Phase, newState.DueAt = PhaseRevealed, now+plan.RevealMS
	if plan.Mode == Survival {
		applySurvivalReveal(view, &newState)
	}
	switch isLast := (View{State: newState}).isLastQuestion(plan); {
	case view.EndReason != "":
		newState.DueAt = now
	case view.HostPaced && !isLast:
		newState.DueAt = now + maxHostAbsenceMS
	}
	step := newVersionedStep(plan, view, newState)
	step.Pushes = []protocol.NumberedPush{newPush(plan, protocol.TypeQuestionClosed, questionClosedView(plan, view))}
	if view.Players > FullListPlayers {
		step.Scores = encodeScores(plan, view)
	}
	return step
}

func endStep(plan *Plan, view View, now int64) Step {
	newState := view.State
	newState.Phase, newState.DueAt = PhaseOver, 0
	step := newVersionedStep(plan, view, newState) // whoever left before the end is last
	result := newResult(plan, view, now)
	step.Pushes = []protocol.NumberedPush{newPush(plan, protocol.TypeMatchOver, matchOverView(plan, view, result))}
	if plan.leavesResult(view.State) {
		step.Result = result
	}
	step.TTLMS = endedTTLMS
	return step
}

// leavesResult reports whether a match that ends in state s leaves a result. A
// duel without a closed question leaves none. Otherwise a loop of duel.join and
// match.leave could fill the ledger.
func (p *Plan) leavesResult(state State) bool { return p.Mode != Duel || state.hasClosedQuestion() }

// abandonStep ends a match of which the store has lost data. Nothing of the
// match counts. The step stores no push, because the store no longer knows
// which numbers were used. Each node numbers the final push by what its players
// have seen.
func abandonStep(plan *Plan, view View) Step {
	newState := view.State
	newState.Phase, newState.DueAt, newState.EndReason = PhaseOver, 0, ReasonAbandoned
	step := newStep(plan, view, newState)
	step.TTLMS = endedTTLMS
	return step
}

func abandonedPush(plan *Plan) protocol.NumberedPush {
	return newPush(plan, protocol.TypeMatchOver, protocol.MatchOver{
		Reason: string(ReasonAbandoned), Standings: []protocol.OverStanding{},
	})
}

func newStep(plan *Plan, view View, newState State) Step {
	return Step{Match: plan.ID, From: view.State, NewState: newState, Large: view.Players > FullListPlayers, Mode: plan.Mode}
}

// newVersionedStep returns a step that depends on how many players may answer.
// In an arena the store refuses it if anyone has left since the match was read.
func newVersionedStep(plan *Plan, view View, newState State) Step {
	step := newStep(plan, view, newState)
	if plan.Arena != nil {
		step.Version = view.Version
	}
	return step
}

func newPush(plan *Plan, kind string, data any) protocol.NumberedPush {
	return protocol.EncodeNumberedPush(plan.ID, kind, data)
}

func answerSeenPush(plan *Plan, question int, player string) protocol.NumberedPush {
	return newPush(plan, protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: question, Player: player})
}
