package checker

import (
	"encoding/json"
	"fmt"

	"laststand/internal/protocol"
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
	j := &judgement{match: m, checker: c, firsts: make(map[string]int64), sums: make(map[string]int64)}
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

// verdict is what is known about a player's answer to a question.
type verdict struct {
	isAccepted, isCorrect bool
	isUnsure              bool // nothing is known
	given                 json.RawMessage
	elapsedMS             int64
}

// verdict returns the verdict on a player's answer. The reply to the answer decides. If
// the reply is missing, because the server refused the answer for now or because the
// player is no client, the result that the server published decides.
func (j *judgement) verdict(r *round, p *part) verdict {
	sent := p.answers[r.asked.Question]
	hasSeenAll := p.isClient && p.hasEnded
	switch {
	case sent != nil && sent.accepted != nil:
		return r.accept(sent.accepted, sent.reply.ElapsedMS)
	case sent == nil && hasSeenAll, sent != nil && sent.isLate && !r.isExtended():
		return verdict{}
	case sent != nil && hasSeenAll && !sent.isUnsure && !sent.isLate: // the server never accepted it
		return verdict{}
	}
	published := j.published(r, p)
	for _, result := range published {
		if result.ElapsedMS == nil {
			continue
		}
		if sent != nil && !sent.has(result.Given) {
			j.violation("question %d: %s sent %s, and %s counts", r.asked.Question, p.player, sent.sent, result.Given)
		}
		return r.accept(result.Given, *result.ElapsedMS)
	}
	return verdict{isUnsure: len(published) == 0}
}

func (r *round) accept(given json.RawMessage, elapsedMS int64) verdict {
	return verdict{isAccepted: true, isCorrect: r.right.IsCorrect(given), given: given, elapsedMS: elapsedMS}
}

// published returns the player's results that the server sent to all players and to this
// player alone.
func (j *judgement) published(r *round, p *part) (all []protocol.QuestionResult) {
	for _, result := range r.closed.Results {
		if result.Player == p.player {
			all = append(all, result)
		}
	}
	if o, ok := p.own[r.asked.Question]; ok {
		all = append(all, protocol.QuestionResult{
			Player: p.player, Given: o.Given, Correct: o.Correct, ElapsedMS: o.ElapsedMS, Points: o.Points, Score: o.Score, Out: o.Out,
		})
	}
	return all
}

// checkTimes checks the stamp and the time of an accepted answer.
func (j *judgement) checkTimes(r *round, p *part) {
	sent := p.answers[r.asked.Question]
	if sent == nil || sent.accepted == nil {
		return
	}
	if at, closesAt := sent.reply.At, r.closesAtFor(p.extra); at > closesAt || sent.reply.ElapsedMS != elapsedMS(r.asked, at, p.extra) {
		j.violation("question %d from %d to %d: an answer got %s", r.asked.Question, r.asked.OpensAt, closesAt, sent.replyData)
	}
	if r.asked.ReadsUntil != nil && sent.reply.At < *r.asked.ReadsUntil {
		j.violation("question %d has a reading time up to %d, and an answer got %s", r.asked.Question, *r.asked.ReadsUntil, sent.replyData)
	}
	if sent.isEarly && sent.reply.At < r.asked.OpensAt {
		j.violation("question %d opened at %d, and an answer before that got %s", r.asked.Question, r.asked.OpensAt, sent.replyData)
	}
	if sent.isLate && !r.isExtended() {
		j.violation("question %d was closed to an answer that got %s", r.asked.Question, sent.replyData)
	}
}

// maxEarlyMS is how far the stamp of an answer may lie before the opening, because the
// clocks of two nodes differ.
const maxEarlyMS = 50

// elapsedMS returns the elapsed_ms of an accepted answer from its stamp. It is 0 for a
// stamp up to maxEarlyMS before the opening, and the limit for an earlier stamp. With extra
// time, in percent, it is scaled to the limit of the others.
func elapsedMS(q protocol.Question, at, extra int64) int64 {
	if at < q.OpensAt-maxEarlyMS {
		return q.ClosesAt - readsUntil(q)
	}
	return max(at-readsUntil(q), 0) * 100 / (100 + extra)
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

// maxFullView is the largest match in which the server sends every result to every
// player.
const maxFullView = 50

// judgement compares one match with the rules.
type judgement struct {
	*match
	checker   *Checker
	firsts    map[string]int64 // by team: questions that a player of the team answered first
	sums      map[string]int64 // by team of a race: the points of its players
	lateMS    []int64          // see Summary
	isPartial bool             // some players are unknown
}

func (j *judgement) violation(format string, args ...any) {
	j.checker.Violations.Add("%s (%s): %s", j.id, j.log.found.Mode, fmt.Sprintf(format, args...))
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

// maxClockSkewMS is how far the clocks of two nodes may differ.
const maxClockSkewMS = 100
