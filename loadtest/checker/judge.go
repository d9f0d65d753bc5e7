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

// judgement compares one match with the rules.
type judgement struct {
	*match
	checker   *Checker
	firsts    map[string]int64 // by team: questions that a player of the team answered first
	lateMS    []int64          // see Summary
	isPartial bool             // some players are unknown
}

// failIf reports a violation, if there is one.
func (j *judgement) failIf(isWrong bool, format string, args ...any) {
	if isWrong {
		j.checker.Violations.Add("%s (%s): %s", j.id, j.log.found.Mode, fmt.Sprintf(format, args...))
	}
}

// failRoundIf reports a violation in a question, if there is one.
func (j *judgement) failRoundIf(isWrong bool, r *round, format string, args ...any) {
	if isWrong {
		j.failIf(true, "question %d: %s", r.asked.Question, fmt.Sprintf(format, args...))
	}
}

// isUnsure reports whether something about a player is unknown.
func (j *judgement) isUnsure() bool {
	for _, t := range j.final {
		if t.isUnsure {
			return true
		}
	}
	return j.isPartial
}

func (j *judgement) run() {
	j.final = make(map[string]*totals)
	if j.broken != nil {
		j.failIf(true, "%v", j.broken)
		return
	}
	if j.log.over == nil {
		j.failIf(!j.checker.Leavers, "it was never over; the last of %d pushes: %s", len(j.hashes), j.newest)
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
		j.failIf(p.isClient && !p.hasEnded && !j.checker.Leavers, "%s did not see its end", player)
		for question, sent := range p.answers {
			j.failIf(sent.accepted != nil && question >= len(j.log.rounds), "question %d was never asked, and an answer to it got %s", question, sent.replyData)
		}
	}
	found := j.log.found
	j.isPartial = len(j.final) < found.Players
	j.failIf(len(j.final) != found.Players && !j.checker.Strangers, "%d players are in it, and %d were found", len(j.final), found.Players)
	j.counts = found.Mode == "duel" && !hasBot || found.ArenaID != "" && j.checker.ArenasCount
}

func (j *judgement) checkOpening(r *round, dueAt int64, after string) {
	limit := j.checker.LimitMS
	j.failRoundIf(limit != 0 && r.limitMS() != limit, r, "it is open for %d ms, and the limit is %d", r.limitMS(), limit)
	if j.checker.RevealMS > 0 {
		j.lateMS = append(j.lateMS, r.asked.OpensAt-dueAt)
		j.failRoundIf(r.asked.OpensAt < dueAt-maxClockSkewMS, r, "it had to open at %d, after %s, and opened at %d", dueAt, after, r.asked.OpensAt)
	}
}

// answerGraceMS is how long after closes_at a question without all answers is revealed.
const answerGraceMS = 150

// judgeRound judges a question, and returns when it had to close.
func (j *judgement) judgeRound(r *round) (dueAt int64) {
	verdicts := j.verdicts(r)
	t, lastClosesAt := countVerdicts(verdicts), j.lastClosesAt(r, verdicts)
	if !t.isUnsure && !j.isPartial {
		j.checkCounts(r, t, int64(len(verdicts)))
		j.checkChoices(r, verdicts)
	}
	j.checkFirst(r, verdicts)
	survives := j.log.found.Mode != "survival" || t.right > 0 // else the question is void
	j.failRoundIf(r.closed.Void == survives && (survives || !t.isUnsure && !j.isPartial), r, "somebody survives: %t, void: %t", survives, r.closed.Void)
	for player, v := range verdicts {
		j.score(r, j.final[player], v)
	}
	if r.closed.Reason == "timeout" {
		return lastClosesAt + answerGraceMS
	}
	return r.readsUntil() + t.newestMS
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
		j.failRoundIf(t.isOut && v.isAccepted, r, "an answer of %s was accepted, who was out", player)
		if !t.isOut {
			all[player] = v
			j.checkTimes(r, j.parts[player])
		}
	}
	return all
}

// lastClosesAt is when a question had to close at the latest, for the players still in. One
// who has left without a trace counts as without extra time.
func (j *judgement) lastClosesAt(r *round, verdicts map[string]verdict) int64 {
	extra := int64(0)
	for player := range verdicts {
		if !j.checker.Leavers {
			extra = max(extra, j.parts[player].extra)
		}
	}
	return r.closesAtFor(extra)
}

// maxNamed is how many players of a larger match the pushes to every player name.
const maxNamed = 10

func (j *judgement) end() {
	over, found, isUnsure := j.log.over, j.log.found, j.isUnsure()
	rank(found.Mode, j.final)
	if over.Reason != "finished" {
		j.endEarly()
		return
	}
	n := len(j.log.rounds)
	j.failIf(n > 0 && j.log.rounds[n-1].closed == nil, "it ended while question %d was open", n-1)
	j.checkLength()
	want := found.Players
	if want > maxFullView {
		want = maxNamed
	}
	j.failIf(len(over.Standings) != want, "its end names %d players, not %d", len(over.Standings), want)
	for _, s := range over.Standings {
		t := j.final[s.Player]
		j.failIf(t == nil && !j.isPartial || t != nil && !isUnsure && s != t.standing(s), "its end says %+v, and it is %+v", s, t)
	}
	if found.Mode != "race" || len(found.Teams) == 0 || !isUnsure && found.Players <= maxFullView { // else the points of a team are unknown
		j.checkWinner()
	}
}

// endEarly checks the scores of a match that a player left or that the server gave up.
// Ranks then depend on who left, which clients do not learn.
func (j *judgement) endEarly() {
	over := j.log.over
	j.failIf(!j.checker.Leavers, "it ended as %s", over.Reason)
	for _, s := range over.Standings {
		t := j.final[s.Player]
		j.failIf(t != nil && !t.isUnsure && s.Score != t.Score, "it ended as %s, and its end says %+v, and it is %+v", over.Reason, s, t)
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
	j.failIf(n < found.Questions && (found.Mode != "survival" || alive > 1 && !j.isUnsure()), "it ended after %d of %d questions with %d players in it", n, found.Questions, alive)
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
	j.failIf(j.log.over.Winner != want, "its winner is %q, and the leaders are %q", j.log.over.Winner, leaders)
}

// checkTeams checks the scores and ranks of the teams, and returns those at rank 1. The points
// of the team of a race are those of its players.
func (j *judgement) checkTeams() (leaders []string) {
	teams := j.log.over.Teams
	j.failIf(len(teams) != len(j.log.found.Teams), "it ends with the teams %+v", teams)
	scores := j.firsts
	if j.log.found.Mode == "race" {
		scores = make(map[string]int64)
		for _, s := range j.log.over.Standings {
			scores[s.Team] += j.final[s.Player].Score
		}
	}
	for _, t := range teams {
		rank := 1
		for _, other := range j.log.found.Teams {
			if scores[other.ID] > scores[t.ID] {
				rank++
			}
		}
		j.failIf(t.Score != scores[t.ID] || t.Rank != rank, "its end says %+v of a team with %d points, at rank %d", t, scores[t.ID], rank)
		if rank == 1 {
			leaders = append(leaders, t.ID)
		}
	}
	slices.Sort(leaders)
	return leaders
}
