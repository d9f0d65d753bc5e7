package match

// forfeitStep returns the step by which a player forfeits a duel. It returns
// false if another step must come first or the match is over.
//
// An open question is sealed first, so that no answer arrives while the result
// is computed. The question does not count. After the last reveal nothing is
// left to forfeit, and the match ends normally.
func forfeitStep(plan *Plan, view View, player string, now int64) (Step, bool) {
	if plan.Mode != Duel { // in an arena the other players continue
		return Step{}, false
	}
	if view.Phase == PhaseRevealed && view.isLastQuestion(plan) {
		return endStep(plan, view, now), true
	}
	view.EndReason, view.Leaver = ReasonForfeit, player
	switch view.Phase {
	case PhaseOpen:
		return sealStep(plan, view, string(ReasonForfeit), now), true
	case PhaseCountdown, PhaseRevealed:
		return endStep(plan, view, now), true
	}
	return Step{}, false
}
