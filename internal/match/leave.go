package match

// forfeitStep returns the step by which a player forfeits a duel. It returns
// false if another step must come first or the match is over.
//
// An open question is sealed first, so that no answer arrives while the result
// is computed. The question does not count. After the last reveal nothing is
// left to forfeit, and the match ends normally.
func forfeitStep(p *Plan, v View, player string, now int64) (Step, bool) {
	if p.Mode != Duel { // in an arena the other players continue
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

// HasForfeitedEarly reports whether a player forfeited a duel before a question
// was closed. It returns false if this node does not hold the duel.
func (e *Engine) ForfeitedEarly(match, player string) bool {
	l := e.findLocal(match)
	if l == nil {
		return false
	}
	s := l.knownState()
	return s.Phase.hasEnded() && s.Leaver == player && !s.hasClosedQuestion()
}

// isUnrevealed reports whether the current question is not revealed. After a
// forfeit during an open question it is never revealed.
func (s State) isUnrevealed() bool {
	return s.Phase == Open || s.Phase == Sealed || s.CloseReason == string(Forfeit)
}

// hasClosedQuestion reports whether at least one question was closed and
// revealed. A match without such a question counts for nothing.
func (s State) hasClosedQuestion() bool {
	return s.Question > 0 || s.Question == 0 && !s.isUnrevealed()
}

// revealedTotals returns a player's totals as of the last reveal.
func (v View) revealedTotals(player string) Totals {
	t := v.Totals[player]
	if r, ok := v.Records[player]; ok && v.isUnrevealed() && !t.isRetracted(r) {
		return t.minus(r)
	}
	return t
}
