package match

import "slices"

// survive is what the reveal of a question does to those still in: who was
// wrong, late or silent is out, unless that would leave nobody. Being right is
// written with the answer (Totals.Last), so nobody has to be visited.
func survive(v View, to *State) {
	if v.void() {
		to.Voids = append(slices.Clone(v.Voids), v.Question)
		return
	}
	to.Last, to.Alive = v.Question, v.Right
}

// void says whether nobody has survived a sealed question, so that it counts
// for none. Who has left is not among the right ones any more.
func (v View) void() bool { return v.Right == 0 }

// out says whether a player is out: the last question that somebody survived
// was not answered right.
func (v View) out(t Totals) bool { return t.Last <= v.Last }

// askedOf is how many questions were put to a player: those survived, and the one
// that the player went out on.
func (v View) askedOf(t Totals) int {
	if v.out(t) {
		return int(t.Correct) + 1
	}
	return int(t.Correct)
}

// answeredOf is how many of those the player answered.
func (v View) answeredOf(t Totals) int {
	if v.out(t) && t.Latest > t.Last && !slices.Contains(v.Voids, t.Latest-1) {
		return int(t.Correct) + 1
	}
	return int(t.Correct)
}
