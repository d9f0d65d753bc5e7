package match

// leave is the step by which a player forfeits a duel; false where another step
// has to come first, or where the match is over. What stands open then is
// sealed first, so that no answer can slip in while the result is reckoned, and
// counts for nobody. Once the last question is revealed nothing is left to
// forfeit: the match ends as it stands.
func leave(p *Plan, v View, player string, now int64) (Step, bool) {
	if p.Mode != Duel { // the others play on
		return Step{}, false
	}
	if v.Phase == Revealed && v.last(p) {
		return end(p, v, now), true
	}
	v.Ending, v.Leaver = Forfeit, player
	switch v.Phase {
	case Open:
		return seal(p, v, string(Forfeit), now), true
	case Countdown, Revealed:
		return end(p, v, now), true
	}
	return Step{}, false
}

// ForfeitedEarly says whether a player has ended a duel, which this node holds,
// by leaving it before a question was closed.
func (e *Engine) ForfeitedEarly(match, player string) bool {
	l := e.held(match)
	if l == nil {
		return false
	}
	s := l.known()
	return s.Phase.ended() && s.Leaver == player && !s.anyClosed()
}

// unrevealed says whether the question that the match stands at is not
// revealed yet, or never will be, because a player left while it was open.
func (s State) unrevealed() bool {
	return s.Phase == Open || s.Phase == Sealed || s.Reason == string(Forfeit)
}

// anyClosed says whether at least one question was closed and revealed. A match
// without one counts for nothing.
func (s State) anyClosed() bool {
	return s.Question > 0 || s.Question == 0 && !s.unrevealed()
}

// revealed are a player's totals as of the last reveal.
func (v View) revealed(player string) Totals {
	t := v.Totals[player]
	if r, ok := v.Records[player]; ok && v.unrevealed() && !t.withdrawn(r) {
		return t.less(r)
	}
	return t
}
