package match

import "laststand/internal/protocol"

const (
	// sealGraceMS is the delay between closes_at and the seal of a question.
	// Answers that arrived in time may still be on their way to the store.
	sealGraceMS = 150
	// maxLateOpeningMS is the delay up to which a question is recorded as opened on time.
	// After a longer delay it opens at the actual time.
	maxLateOpeningMS = 100
	// minOutageMS is the delay of a seal that counts as an outage. The lost time
	// is then added to the question.
	minOutageMS = 1000
	// maxHostAbsenceMS is how long a host may be away before the arena continues
	// without one.
	maxHostAbsenceMS = 60_000
	// minLargeRevealMS is the shortest reveal in a match of over FullListPlayers
	// players. In this time each node reads and sends the personal results.
	minLargeRevealMS = 200
	// endedTTLMS is how long a match can be read after it is over.
	endedTTLMS = 6 * 60 * 1000
)

// Reasons why a question closed.
const (
	closeReasonAllAnswered  = "all_answered"
	closeReasonTimeout      = "timeout"
	closeReasonFirstCorrect = "first_correct"
	closeReasonHost         = "host"
)

// nextStep returns the step that is due. It returns false if none is due. It is a pure
// function of the view and contains the complete flow of a match. lostMS is how
// long the calling node could not advance anything until now.
//
// Example: a duel whose question 0 opened at 1000 with a limit of 10,000 is
// sealed at 11,150 (closes_at 11,000 plus sealGraceMS). It is revealed immediately,
// and question 1 opens RevealMS later.
func nextStep(plan *Plan, view View, now, lostMS int64) (Step, bool) {
	switch view.Phase {
	case PhaseLobby:
		if view.isDue(now) { // the host never started the match
			return closeArenaStep(plan, view, now)
		}
	case PhaseStarting:
		return announceMatchStep(plan, view, now), true
	case PhaseCountdown:
		if view.isDue(now) {
			return openDueStep(plan, view, 0, now), true
		}
	case PhaseOpen:
		return closeQuestionStep(plan, view, now, lostMS)
	case PhaseSealed:
		if view.EndReason == ReasonForfeit {
			return endStep(plan, view, now), true
		}
		return revealStep(plan, view, now), true
	case PhaseRevealed:
		return afterRevealStep(plan, view, now)
	}
	return Step{}, false
}

// sufficesForNextStep reports whether a view without records and totals is
// sufficient to compute the next step.
func (v View) sufficesForNextStep(plan *Plan) bool {
	if v.Records != nil {
		return true
	}
	switch v.Phase {
	case PhaseCountdown:
		return plan.Arena == nil
	case PhaseOpen:
		return plan.Arena == nil && v.hasAllAnswers()
	case PhaseRevealed:
		return !v.isLastQuestion(plan) && !v.HostPaced // a present host moves the deadline
	}
	return false
}

// isLastQuestion reports whether no question follows.
func (v View) isLastQuestion(plan *Plan) bool {
	return v.Question+1 >= len(plan.Questions) || plan.Mode == Survival && v.Alive <= 1
}

// closeQuestionStep ends a question that everyone has answered or whose time is
// over. Time lost to an outage is added to the question once, if there is no
// answer yet.
//
// If everyone in an arena has answered, the question is revealed without a
// seal. No answer is accepted any more, and a player who leaves raises the
// version that the reveal compares.
func closeQuestionStep(plan *Plan, view View, now, lostMS int64) (Step, bool) {
	switch {
	case view.hasAllAnswers() && plan.Arena != nil:
		view.CloseReason = closeReasonAllAnswered
		return revealStep(plan, view, now), true
	case view.hasAllAnswers():
		return sealStep(plan, view, closeReasonAllAnswered, now), true
	}
	if !view.isDue(now) {
		return Step{}, false
	}
	if extensionMS := max(now-view.DueAt, lostMS); extensionMS >= minOutageMS && view.canExtend() {
		return extendStep(plan, view, extensionMS, now), true
	}
	step := sealStep(plan, view, closeReasonTimeout, now)
	step.Version = view.Version // fails if another node has extended the question
	return step, true
}

// afterRevealStep returns the step that follows a reveal.
func afterRevealStep(plan *Plan, view View, now int64) (Step, bool) {
	switch {
	case view.EndReason != "":
		return endStep(plan, view, now), true
	case !view.isDue(now):
		return Step{}, false
	case view.isLastQuestion(plan):
		return endStep(plan, view, now), true
	}
	return openDueStep(plan, view, view.Question+1, now), true
}

// openDueStep opens a due question at its deadline, or now if that has passed.
// If a host had to open it, the host was away.
func openDueStep(plan *Plan, view View, question int, now int64) Step {
	opensAt := view.DueAt
	if view.HostPaced || now-opensAt > maxLateOpeningMS {
		opensAt = now
	}
	view.HostPaced = false
	return openStep(plan, view, question, opensAt)
}

func openStep(plan *Plan, view View, question int, opensAt int64) Step {
	newState := view.State
	newState.Phase, newState.Question, newState.CloseReason, newState.Extended = PhaseOpen, question, "", false
	newState.Answered, newState.Right, newState.First = 0, 0, nil
	newState.OpensAt, newState.ClosesAt = opensAt, opensAt+plan.LimitMS
	newState.DueAt = newState.ClosesAt + sealGraceMS
	if question == 0 {
		newState.StartedAt = opensAt
	}
	if plan.Mode == Buzzer {
		newState.Alive = view.Players - view.LeftSeats
	}
	step := newVersionedStep(plan, view, newState)
	step.Pushes = []protocol.NumberedPush{newPush(plan, protocol.TypeQuestion, questionView(plan, newState))}
	return step
}

// canExtend reports whether time lost to an outage may be added to the open
// question.
func (v View) canExtend() bool { return v.Phase == PhaseOpen && v.Answered == 0 && !v.Extended }

// extendStep adds lost time to the open question, at most its full limit. The
// store refuses the step if an answer arrives first.
func extendStep(plan *Plan, view View, lostMS, now int64) Step {
	newState := view.State
	newState.Extended = true
	newState.ClosesAt = max(view.ClosesAt, now) + min(lostMS, plan.LimitMS)
	newState.DueAt = newState.ClosesAt + sealGraceMS
	step := newStep(plan, view, newState)
	step.Version = view.Version
	step.Pushes = []protocol.NumberedPush{newPush(plan, protocol.TypeQuestionExtended,
		protocol.QuestionExtended{Question: view.Question, ClosesAt: newState.ClosesAt})}
	return step
}

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
	if view.Players > FullListPlayers {
		newState.DueAt = max(newState.DueAt, now+minLargeRevealMS)
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
	step := newStep(plan, view, newState)
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
	return Step{Match: plan.ID, FromPhase: view.Phase, Question: view.Question, NewState: newState, Large: view.Players > FullListPlayers, Buzzer: plan.Mode == Buzzer}
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
