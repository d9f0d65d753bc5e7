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

// HasForfeitedEarly reports whether a player forfeited a duel before a question
// was closed. It returns false if this node does not hold the duel.
func (e *Engine) HasForfeitedEarly(match, player string) bool {
	local := e.findLocalMatch(match)
	if local == nil {
		return false
	}
	state := local.knownState()
	return state.Phase.hasEnded() && state.Leaver == player && !state.hasClosedQuestion()
}

// isUnrevealed reports whether the current question is not revealed. After a
// forfeit during an open question it is never revealed.
func (s State) isUnrevealed() bool {
	return s.Phase == PhaseOpen || s.Phase == PhaseSealed || s.CloseReason == string(ReasonForfeit)
}

// hasClosedQuestion reports whether at least one question was closed and
// revealed. A match without such a question counts for nothing.
func (s State) hasClosedQuestion() bool {
	return s.Question > 0 || s.Question == 0 && !s.isUnrevealed()
}

// revealedTotals returns a player's totals as of the last reveal.
func (v View) revealedTotals(player string) Totals {
	t := v.Totals[player]
	if record, ok := v.Records[player]; ok && v.isUnrevealed() && !t.isRetracted(record) {
		return t.withoutRecord(record)
	}
	return t
}
