package match

import "laststand/internal/protocol"

// startArenaStep returns the step after which an arena accepts no more seats. It
// returns false unless the arena is in its lobby.
func startArenaStep(plan *Plan, view View, now int64) (Step, bool) {
	if view.Phase != PhaseLobby {
		return Step{}, false
	}
	newState := view.State
	newState.Phase, newState.DueAt = PhaseStarting, now
	return newStep(plan, view, newState), true
}

// announceMatchStep announces the match of an arena that accepts no more seats. The
// announcement lists and counts the players, so the store refuses the step if
// anyone has left since the read.
func announceMatchStep(plan *Plan, view View, now int64) Step {
	newState := view.State
	newState.Phase, newState.StartsAt = PhaseCountdown, now+plan.CountdownMS
	newState.Alive = view.Players - view.LeftSeats
	newState.DueAt = newState.StartsAt
	if view.HostPaced {
		newState.DueAt += maxHostAbsenceMS
	}
	step := newVersionedStep(plan, view, newState)
	view.State = newState
	step.Pushes = []protocol.NumberedPush{newPush(plan, protocol.TypeMatchFound, matchFoundView(plan, view))}
	return step
}

// proceedStep returns the step that the host requests: it closes the open
// question, else opens the next one. It returns false unless after is the
// current question.
func proceedStep(plan *Plan, view View, after int, now int64) (Step, bool) {
	if view.Question != after {
		return Step{}, false
	}
	switch {
	case view.Phase == PhaseCountdown && now >= view.StartsAt:
		return openStep(plan, view, 0, now), true
	case view.Phase == PhaseOpen:
		return sealStep(plan, view, closeReasonHost, now), true
	case view.Phase == PhaseRevealed && view.isLastQuestion(plan):
		return endStep(plan, view, now), true
	case view.Phase == PhaseRevealed:
		return openStep(plan, view, view.Question+1, now), true
	}
	return Step{}, false
}

// closeArenaStep returns the step by which a host ends an arena. It returns
// false if another step must come first or the arena is over. An open question
// is revealed and counts. An arena that has not begun leaves no result.
func closeArenaStep(plan *Plan, view View, now int64) (Step, bool) {
	newState := view.State
	newState.EndReason = ReasonClosed
	switch view.Phase {
	case PhaseLobby, PhaseStarting, PhaseCountdown:
		newState.Phase, newState.DueAt = PhaseOver, 0
		step := newStep(plan, view, newState)
		step.TTLMS = endedTTLMS
		if view.Phase == PhaseCountdown {
			step.Pushes = []protocol.NumberedPush{newPush(plan, protocol.TypeMatchOver, protocol.MatchOver{
				Reason: string(ReasonClosed), Standings: []protocol.OverStanding{},
			})}
		}
		return step, true
	case PhaseOpen:
		newState.Phase, newState.CloseReason, newState.DueAt = PhaseSealed, closeReasonHost, now
		return newStep(plan, view, newState), true
	case PhaseRevealed:
		view.EndReason = ReasonClosed
		return endStep(plan, view, now), true
	}
	return Step{}, false
}
