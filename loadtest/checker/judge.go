package checker

import (
	"fmt"
	"slices"
)

// JudgeRest judges all matches that are not judged yet. Call it when all clients have
// ended. A match whose end some client has not seen is a violation.
func (c *Checker) JudgeRest() {
	for _, m := range c.sorted() {
		if m.final == nil {
			c.judge(m)
		}
	}
}

// judge compares a match with the rules, and forgets its pushes and answers.
func (c *Checker) judge(m *match) {
	j := &judgement{match: m, checker: c, firsts: make(map[string]int64)}
	j.run()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.summary.Matches == nil {
		c.summary.Matches = make(map[string]int)
	}
	c.summary.Matches[m.log.found.Mode]++
	c.summary.Pushes += len(m.hashes)
	c.summary.LateMS = append(c.summary.LateMS, j.lateMS...)
	if j.isUnsure() {
		c.summary.Unsure++
	}
	m.mu.Lock() // a spectator may still receive pushes
	defer m.mu.Unlock()
	m.log, m.parts, m.newest = matchLog{}, nil, nil
}

func (j *judgement) run() {
	j.final = make(map[string]*totals)
	switch {
	case j.broken != nil:
		j.violation("%v", j.broken)
		return
	case j.log.over == nil && j.checker.Leavers:
		return
	case j.log.over == nil:
		j.violation("it was never over; the last of %d pushes: %s", len(j.hashes), j.newest)
		return
	}
	j.seat()
	dueAt, after := j.log.found.StartsAt, "the countdown"
	for _, r := range j.log.rounds {
		j.checkOpening(r, dueAt, after)
		if r.closed == nil { // the match ended before the question closed
			break
		}
		dueAt = j.judgeRound(r) + j.checker.RevealMS
		after = fmt.Sprintf("one open from %d to %d and closed by %s", r.asked.OpensAt, r.closesAt, r.closed.Reason)
	}
	j.end()
}

// seat makes the totals of every player.
func (j *judgement) seat() {
	hasBot := false
	for _, s := range j.log.found.Seats {
		j.part(s.ID)
		hasBot = hasBot || s.Bot
	}
	for player, p := range j.parts {
		j.final[player] = &totals{Sums: Sums{Matches: 1}, player: player, lastRight: -1}
		if p.isClient && !p.hasEnded && !j.checker.Leavers {
			j.violation("%s did not see its end", player)
		}
		for question, sent := range p.answers {
			if sent.accepted != nil && question >= len(j.log.rounds) {
				j.violation("question %d was never asked, and an answer to it got %s", question, sent.replyData)
			}
		}
	}
	j.isPartial = len(j.final) < j.log.found.Players
	if len(j.final) != j.log.found.Players && !j.checker.Strangers {
		j.violation("%d players are in it, and %d were found", len(j.final), j.log.found.Players)
	}
	j.counts = j.log.found.Mode == "duel" && !hasBot || j.log.found.ArenaID != "" && j.checker.ArenasCount
}

func (j *judgement) checkOpening(r *round, dueAt int64, after string) {
	if limit := j.checker.LimitMS; limit != 0 && r.limitMS() != limit {
		j.violation("question %d is open for %d ms, and the limit is %d", r.asked.Question, r.limitMS(), limit)
	}
	if j.checker.RevealMS == 0 {
		return
	}
	j.lateMS = append(j.lateMS, r.asked.OpensAt-dueAt)
	if r.asked.OpensAt < dueAt-maxClockSkewMS {
		j.violation("question %d had to open at %d, after %s, and opened at %d", r.asked.Question, dueAt, after, r.asked.OpensAt)
	}
}

// answerGraceMS is how long after closes_at a question without all answers is revealed.
const answerGraceMS = 150

// judgeRound judges a question, and returns when it had to close.
func (j *judgement) judgeRound(r *round) (dueAt int64) {
	verdicts := j.verdicts(r)
	t, lastClosesAt := countVerdicts(verdicts), j.lastClosesAt(r, verdicts)
	if !t.isUnsure && !j.isPartial {
		j.checkCounts(r, t)
	}
	j.checkFirst(r, verdicts)
	j.checkVoid(r, verdicts)
	if !t.isUnsure && !j.isPartial && j.log.found.ArenaID != "" {
		j.checkChoices(r, verdicts)
	}
	for player, v := range verdicts {
		j.score(r, j.final[player], v)
	}
	if r.closed.Reason == "timeout" {
		return lastClosesAt + answerGraceMS
	}
	return readsUntil(r.asked) + t.newestMS
}

// verdicts returns the verdicts on all players who are still in the match. If it is
// unknown whether a player survived a question, all later verdicts are unknown.
func (j *judgement) verdicts(r *round) map[string]verdict {
	all := make(map[string]verdict)
	for player, t := range j.final {
		v := j.verdict(r, j.parts[player])
		if t.isUnsure && j.log.found.Mode == "survival" {
			v = verdict{isUnsure: true}
		}
		if !t.isOut {
			all[player] = v
			j.checkTimes(r, j.parts[player])
		} else if v.isAccepted {
			j.violation("question %d: an answer of %s was accepted, who was out", r.asked.Question, player)
		}
	}
	return all
}

func (j *judgement) checkCounts(r *round, t verdictCounts) {
	if r.closed.Answered != t.accepted || r.closed.Right != t.right {
		j.violation("question %d: %d answers were accepted and %d right, and its close says %d and %d",
			r.asked.Question, t.accepted, t.right, r.closed.Answered, r.closed.Right)
	}
	if r.closed.Reason == "all_answered" && t.accepted != t.players {
		j.violation("question %d was closed by all_answered when %d of %d had answered", r.asked.Question, t.accepted, t.players)
	}
	if j.log.found.Players <= maxFullView && int64(len(r.closed.Results)) != t.players {
		j.violation("question %d: its close names %d of %d players", r.asked.Question, len(r.closed.Results), t.players)
	}
}

// maxNamed is how many players of a larger match the pushes to every player name.
const maxNamed = 10

func (j *judgement) end() {
	over, found := j.log.over, j.log.found
	rank(found.Mode, j.final)
	if over.Reason != "finished" {
		j.endEarly()
		return
	}
	if n := len(j.log.rounds); n > 0 && j.log.rounds[n-1].closed == nil {
		j.violation("it ended while question %d was open", n-1)
	}
	j.checkLength()
	want := found.Players
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
	if found.Mode != "race" || len(found.Teams) == 0 || !j.isUnsure() && found.Players <= maxFullView { // else the points of a team are unknown
		j.checkWinner()
	}
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
	n, found := len(j.log.rounds), j.log.found
	if n < found.Questions && (found.Mode != "survival" || alive > 1 && !j.isUnsure()) {
		j.violation("it ended after %d of %d questions with %d players in it", n, found.Questions, alive)
	}
}

// checkWinner checks the winner: the one leader among the teams, or else among the players.
func (j *judgement) checkWinner() {
	var leaders []string
	if len(j.log.found.Teams) > 0 {
		leaders = j.checkTeams()
	} else {
		for _, s := range j.log.over.Standings {
			if s.Rank == 1 {
				leaders = append(leaders, s.Player)
			}
		}
	}
	want := ""
	if len(leaders) == 1 {
		want = leaders[0]
	}
	if j.log.over.Winner != want {
		j.violation("its winner is %q, and the leaders are %q", j.log.over.Winner, leaders)
	}
}

// checkTeams checks the scores and ranks of the teams, and returns those at rank 1. The points
// of the team of a race are those of its players.
func (j *judgement) checkTeams() (leaders []string) {
	if len(j.log.over.Teams) != len(j.log.found.Teams) {
		j.violation("it ends with the teams %+v", j.log.over.Teams)
	}
	scores := j.firsts
	if j.log.found.Mode == "race" {
		scores = make(map[string]int64)
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
