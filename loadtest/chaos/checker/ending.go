package checker

// topView is how many players of a larger match appear in the pushes to every player.
const topView = 10

// end checks the final push of the match.
func (j *judgement) end() {
	if j.over.Reason != "finished" {
		j.addViolation("it ended as %s", j.over.Reason)
	}
	alive := 0
	for _, t := range j.all {
		if !t.out && !t.unsure {
			alive++
		}
	}
	if n := len(j.rounds); n < j.found.Questions && (j.found.Mode != "survival" || alive > 1) {
		j.addViolation("it ended after %d of %d questions with %d players in", n, j.found.Questions, alive)
	}
	want := len(j.all)
	if want > fullView {
		want = topView
	}
	if len(j.over.Standings) != want {
		j.addViolation("its end names %d players, and %d are to be named", len(j.over.Standings), want)
	}
	j.standings()
	j.winner()
}

// standings checks the standings that every player receives.
func (j *judgement) standings() {
	rank(j.found.Mode, j.all)
	for _, s := range j.over.Standings {
		t := j.all[s.Player]
		if t == nil || !t.unsure && s != t.standing(s) {
			j.addViolation("its end says %+v, and it is %+v", s, t)
		}
	}
}

// winner checks the winner and the teams.
func (j *judgement) winner() {
	var first []string
	for _, s := range j.over.Standings {
		if s.Rank == 1 {
			first = append(first, s.Player)
		}
	}
	if len(j.found.Teams) > 0 {
		first = j.teams()
	}
	want := ""
	if len(first) == 1 {
		want = first[0]
	}
	if j.over.Winner != want {
		j.addViolation("its winner is %q, and %q is first", j.over.Winner, first)
	}
}

// teams checks the teams, and returns those at rank 1.
func (j *judgement) teams() (first []string) {
	if len(j.over.Teams) != len(j.found.Teams) {
		j.addViolation("it ends with the teams %+v", j.over.Teams)
	}
	for _, t := range j.over.Teams {
		rank := 1
		for _, other := range j.found.Teams {
			if j.firsts[other.ID] > j.firsts[t.ID] {
				rank++
			}
		}
		if t.Score != j.firsts[t.ID] || t.Rank != rank {
			j.addViolation("its end says %+v of a team that was first at %d questions, at rank %d", t, j.firsts[t.ID], rank)
		}
		if rank == 1 {
			first = append(first, t.ID)
		}
	}
	return first
}
