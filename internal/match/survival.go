package match

import "slices"

// applySurvivalReveal applies the reveal of a question to the players still in.
// Players who were wrong, late or silent are out, unless no player would be
// left. The store records with each right answer that its player survives
// (Totals.LastCorrect), so no player has to be updated.
//
// A player who is out has no extra time any more, because the next questions would wait for it.
func applySurvivalReveal(view View, newState *State) {
	if view.isVoid() {
		newState.Voids = append(slices.Clone(view.Voids), view.Question)
		return
	}
	newState.LastDecided, newState.Alive = view.Question, view.Right
	newState.Extra = slices.DeleteFunc(slices.Clone(view.Extra), func(e ExtraTime) bool {
		t, isKnown := view.Totals[e.Player]
		return isKnown && View{State: *newState}.isEliminated(t)
	})
}

// isVoid reports whether no player survived a question that is about to be revealed, so that the
// question does not count. The right answers of players who left do not count.
func (v View) isVoid() bool { return v.Right == 0 }

// isEliminated reports whether a player is out: the player did not answer the
// last decided question right.
func (v View) isEliminated(t Totals) bool { return t.LastCorrect <= v.LastDecided }

// askedCount is the number of questions that count as asked for a player: those
// survived, and the one that eliminated the player.
func (v View) askedCount(t Totals) int {
	if v.isEliminated(t) {
		return int(t.Correct) + 1
	}
	return int(t.Correct)
}

// answeredCount is how many of the asked questions the player answered.
func (v View) answeredCount(t Totals) int {
	if v.isEliminated(t) && t.LastAnswered > t.LastCorrect && !slices.Contains(v.Voids, t.LastAnswered-1) {
		return int(t.Correct) + 1
	}
	return int(t.Correct)
}
