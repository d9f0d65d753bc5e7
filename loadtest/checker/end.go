package checker

import "slices"

// maxNamed is how many players of a larger match the pushes to every player name.
const maxNamed = 10

func (j *judgement) end() {
	over := j.log.over
	rank(j.log.found.Mode, j.final)
	if over.Reason != "finished" {
		j.endEarly()
		return
	}
	if n := len(j.log.rounds); n > 0 && j.log.rounds[n-1].closed == nil {
		j.violation("it ended while question %d was open", n-1)
	}
	j.checkLength()
	want := j.log.found.Players
	if want > maxFullView {
		want = maxNamed
	}
	if len(over.Standings) != want {
		j.violation("its end names %d players, not %d", len(over.Standings), want)
	}
	for _, s := range over.Standings {
		t := j.final[s.Player]
		if t == nil && !j.isPartial || t != nil && !j.isUnsure() && s != t.standing(s) {
			j.violation("its end says %+v, and it is %+v", s, t)
		}
	}
	j.checkWinner()
}

// endEarly checks the scores of a match that a player left or that the server gave up.
// Ranks then depend on who left, which clients do not learn.
func (j *judgement) endEarly() {
	over := j.log.over
	if !j.checker.Leavers {
		j.violation("it ended as %s", over.Reason)
	}
	for _, s := range over.Standings {
		if t := j.final[s.Player]; t != nil && !t.isUnsure && s.Score != t.Score {
			j.violation("it ended as %s, and its end says %+v, and it is %+v", over.Reason, s, t)
		}
	}
	for _, t := range j.final {
		t.isUnsure = true
	}
}

// checkLength checks that all questions were asked. A survival match may end when one
// player is left.
func (j *judgement) checkLength() {
	alive := 0
	for _, t := range j.final {
		if !t.isOut {
			alive++
		}
	}
	n, isSurvival := len(j.log.rounds), j.log.found.Mode == "survival"
	if n < j.log.found.Questions && (!isSurvival || alive > 1 && !j.isUnsure()) {
		j.violation("it ended after %d of %d questions with %d players in it", n, j.log.found.Questions, alive)
	}
}

// checkWinner checks the winner and the teams. Without exactly one leader there is no
// winner.
func (j *judgement) checkWinner() {
	var leaders []string
	for _, s := range j.log.over.Standings {
		if s.Rank == 1 {
			leaders = append(leaders, s.Player)
		}
	}
	switch {
	case len(j.log.found.Teams) > 0 && j.log.found.Mode == "race" && (j.isUnsure() || j.log.found.Players > maxFullView):
		return // the points of a team are unknown
	case len(j.log.found.Teams) > 0:
		leaders = j.checkTeams()
	}
	want := ""
	if len(leaders) == 1 {
		want = leaders[0]
	}
	if j.log.over.Winner != want {
		j.violation("its winner is %q, and the leaders are %q", j.log.over.Winner, leaders)
	}
}

// checkTeams checks the scores and ranks of the teams, and returns those at rank 1.
func (j *judgement) checkTeams() (leaders []string) {
	if len(j.log.over.Teams) != len(j.log.found.Teams) {
		j.violation("it ends with the teams %+v", j.log.over.Teams)
	}
	scores := j.firsts
	if j.log.found.Mode == "race" {
		scores = j.sums
		for _, s := range j.log.over.Standings {
			scores[s.Team] += j.final[s.Player].Score
		}
	}
	for _, t := range j.log.over.Teams {
		rank := 1
		for _, other := range j.log.found.Teams {
			if scores[other.ID] > scores[t.ID] {
				rank++
			}
		}
		if t.Score != scores[t.ID] || t.Rank != rank {
			j.violation("its end says %+v of a team with %d points, at rank %d", t, scores[t.ID], rank)
		}
		if rank == 1 {
			leaders = append(leaders, t.ID)
		}
	}
	slices.Sort(leaders)
	return leaders
}
