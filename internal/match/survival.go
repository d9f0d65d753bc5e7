package match

import "slices"

// applySurvival is what the reveal of a question does to those still in: who was
// wrong, late or silent is out, unless that would leave nobody. Being right is
// written with the answer (Totals.Last), so nobody has to be visited.
func applySurvival(v View, to *State) {
	if v.isVoid() {
		to.Voids = append(slices.Clone(v.Voids), v.Question)
		return
	}
	to.LastDecided, to.Alive = v.Question, v.Right
}

// isVoid says whether nobody has survived a sealed question, so that it counts
// for none. Who has left is not among the right ones any more.
func (v View) isVoid() bool { return v.Right == 0 }

// isEliminated says whether a player is out: the last question that somebody survived
// was not answered right.
func (v View) isEliminated(t Totals) bool { return t.LastCorrect <= v.LastDecided }

// askedCount is how many questions were put to a player: those survived, and the one
// that the player went out on.
func (v View) askedCount(t Totals) int {
	if v.isEliminated(t) {
		return int(t.Correct) + 1
	}
	return int(t.Correct)
}

// answeredCount is how many of those the player answered.
func (v View) answeredCount(t Totals) int {
	if v.isEliminated(t) && t.LastAnswered > t.LastCorrect && !slices.Contains(v.Voids, t.LastAnswered-1) {
		return int(t.Correct) + 1
	}
	return int(t.Correct)
}
