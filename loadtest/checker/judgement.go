package checker

import (
	"bytes"
	"fmt"

	"laststand/internal/protocol"
)

// maxFullView is the largest match in which the server sends every result to every
// player.
const maxFullView = 50

// judgement compares one match with the rules.
type judgement struct {
	*match
	checker   *Checker
	firsts    map[string]int64 // by team: questions that a player of the team answered first
	openings  []Opening
	isPartial bool // some players are unknown
}

func (j *judgement) violation(format string, args ...any) {
	j.checker.Violations.Add("%s (%s): %s", j.id, j.log.found.Mode, fmt.Sprintf(format, args...))
}

// run judges the match.
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
	j.openings = append(j.openings, Opening{dueAt, r.asked.OpensAt})
	if r.asked.OpensAt < dueAt-maxClockSkewMS {
		j.violation("question %d had to open at %d, after %s, and opened at %d", r.asked.Question, dueAt, after, r.asked.OpensAt)
	}
}

// sealGraceMS is how long after closes_at a question is sealed.
const sealGraceMS = 150

// judgeRound judges a question, and returns when it had to close.
func (j *judgement) judgeRound(r *round) (dueAt int64) {
	verdicts := j.verdicts(r)
	t := countVerdicts(verdicts)
	if !t.isUnsure && !j.isPartial {
		j.checkCounts(r, t)
	}
	j.checkFirst(r, verdicts)
	j.checkVoid(r, verdicts)
	for player, v := range verdicts {
		j.score(r, j.final[player], v)
	}
	if r.closed.Reason == "timeout" {
		return r.closesAt + sealGraceMS
	}
	return r.asked.OpensAt + t.newestMS
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

// verdictCounts sums up the verdicts on a question.
type verdictCounts struct {
	players, accepted, right int64
	newestMS                 int64 // elapsed time of the last answer
	isUnsure                 bool
}

func countVerdicts(verdicts map[string]verdict) (t verdictCounts) {
	for _, v := range verdicts {
		t.players++
		t.isUnsure = t.isUnsure || v.isUnsure
		if v.isAccepted {
			t.accepted++
			t.newestMS = max(t.newestMS, v.elapsedMS)
		}
		if v.isCorrect {
			t.right++
		}
	}
	return t
}

// checkCounts checks the counts in the close of a question.
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

// checkFirst checks which player the server named as first. In a buzzer match this is
// exactly the player whose answer was right.
func (j *judgement) checkFirst(r *round, verdicts map[string]verdict) {
	first := r.closed.First
	if first != nil {
		j.firsts[first.Team]++
	}
	if (first != nil) != (r.closed.Reason == "first_correct") || first != nil && j.log.found.Mode != "buzzer" {
		j.violation("question %d was closed by %s, and its first is %+v", r.asked.Question, r.closed.Reason, first)
	}
	if j.log.found.Mode != "buzzer" {
		return
	}
	for player, v := range verdicts {
		isFirst := first != nil && first.Player == player
		if !v.isUnsure && v.isCorrect != isFirst {
			j.violation("question %d: %s was right: %t, and is the first: %t", r.asked.Question, player, v.isCorrect, isFirst)
		}
		sent := j.parts[player].answers[r.asked.Question]
		if sent == nil || sent.accepted == nil {
			continue
		}
		if correct, named := sent.reply.Correct, sent.reply.First; correct == nil || named == nil || *correct != v.isCorrect || *named != isFirst {
			j.violation("question %d: %s was right: %t, is the first: %t, and got %s", r.asked.Question, player, v.isCorrect, isFirst, sent.replyData)
		}
	}
}

// checkVoid checks that a question of a survival match is void if no player survives it,
// and only then.
func (j *judgement) checkVoid(r *round, verdicts map[string]verdict) {
	t := countVerdicts(verdicts)
	survives := j.log.found.Mode != "survival" || t.right > 0
	if r.closed.Void == survives && (survives || !t.isUnsure && !j.isPartial) {
		j.violation("question %d: somebody survives: %t, void: %t", r.asked.Question, survives, r.closed.Void)
	}
}

// score adds a question to the totals of a player, and compares the player's results
// with them.
func (j *judgement) score(r *round, t *totals, v verdict) {
	points := int64(0)
	if !r.closed.Void {
		points = t.count(j.log.found.Mode, r.limitMS(), v)
		t.isOut = j.log.found.Mode == "survival" && !v.isCorrect && !v.isUnsure
	}
	if v.isCorrect {
		t.lastRight = r.asked.Question
	}
	if t.isUnsure {
		return
	}
	want := protocol.QuestionResult{Player: t.player, Given: v.given, Correct: v.isCorrect, Points: points, Score: t.Score, Out: t.isOut}
	if v.isAccepted {
		want.ElapsedMS = &v.elapsedMS
	}
	for _, shown := range j.published(r, j.parts[t.player]) {
		if !isSame(shown, want) {
			j.violation("question %d: the server says %s, and it is %s", r.asked.Question, format(shown), format(want))
		}
	}
}

func isSame(a, b protocol.QuestionResult) bool {
	if (a.ElapsedMS == nil) != (b.ElapsedMS == nil) || a.ElapsedMS != nil && (*a.ElapsedMS != *b.ElapsedMS || !bytes.Equal(a.Given, b.Given)) {
		return false
	}
	return a.Correct == b.Correct && a.Points == b.Points && a.Score == b.Score && a.Out == b.Out
}

func format(r protocol.QuestionResult) string {
	elapsed := "none"
	if r.ElapsedMS != nil {
		elapsed = fmt.Sprint(*r.ElapsedMS, " ms")
	}
	return fmt.Sprintf("%s: given %s in %s, correct %t, points %d, score %d, out %t",
		r.Player, r.Given, elapsed, r.Correct, r.Points, r.Score, r.Out)
}
