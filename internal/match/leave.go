package match

// forfeitStep is the step by which a player forfeits a duel; false where another step
// has to come first, or where the match is over. What stands open then is
// sealed first, so that no answer can slip in while the result is reckoned, and
// counts for nobody. Once the last question is revealed nothing is left to
// forfeit: the match ends as it stands.
func forfeitStep(p *Plan, v View, player string, now int64) (Step, bool) {
	if p.Mode != Duel { // the others play on
		return Step{}, false
	}
	if v.Phase == Revealed && v.isLastQuestion(p) {
		return endStep(p, v, now), true
	}
	v.EndReason, v.Leaver = Forfeit, player
	switch v.Phase {
	case Open:
		return sealStep(p, v, string(Forfeit), now), true
	case Countdown, Revealed:
		return endStep(p, v, now), true
	}
	return Step{}, false
}

// ForfeitedEarly says whether a player has ended a duel, which this node holds,
// by leaving it before a question was closed.
func (e *Engine) ForfeitedEarly(match, player string) bool {
	l := e.findLocal(match)
	if l == nil {
		return false
	}
	s := l.knownState()
	return s.Phase.hasEnded() && s.Leaver == player && !s.hasClosedQuestion()
}

// isUnrevealed says whether the question that the match stands at is not
// revealed yet, or never will be, because a player left while it was open.
func (s State) isUnrevealed() bool {
	return s.Phase == Open || s.Phase == Sealed || s.CloseReason == string(Forfeit)
}

// hasClosedQuestion says whether at least one question was closed and revealed. A match
// without one counts for nothing.
func (s State) hasClosedQuestion() bool {
	return s.Question > 0 || s.Question == 0 && !s.isUnrevealed()
}

// revealedTotals are a player's totals as of the last reveal.
func (v View) revealedTotals(player string) Totals {
	t := v.Totals[player]
	if r, ok := v.Records[player]; ok && v.isUnrevealed() && !t.isRetracted(r) {
		return t.minus(r)
	}
	return t
}
