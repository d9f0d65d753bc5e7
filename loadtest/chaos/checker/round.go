package checker

import (
	"bytes"
	"fmt"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// round judges a question, and returns when it was due to close.
func (j *judgement) round(r *round) (due int64) {
	known := j.known(r)
	t := scoreOf(known)
	if !t.unsure && (r.closed.Answered != t.accepted || r.closed.Right != t.right) {
		j.addViolation("question %d: %d answers were accepted and %d right, its close says %d and %d",
			r.asked.Question, t.accepted, t.right, r.closed.Answered, r.closed.Right)
	}
	if r.closed.Reason == "all_answered" && !t.unsure && t.accepted != int64(len(known)) {
		j.addViolation("question %d was closed when %d of %d had answered", r.asked.Question, t.accepted, len(known))
	}
	j.first(r, known)
	j.count(r, known)
	if r.closed.Reason == "timeout" {
		return r.closesAt + sealGraceMS
	}
	return r.asked.OpensAt + t.newest
}

// known returns the evidence for every player who is still in the match. If it is
// unknown whether a player survived a question, all later evidence for that player is
// unknown.
func (j *judgement) known(r *round) map[string]evidence {
	known := make(map[string]evidence)
	for player, t := range j.all {
		e := r.evidence(j.shares[player])
		if t.unsure && j.found.Mode == "survival" {
			e = evidence{unsure: true}
		}
		if !t.out {
			known[player] = e
			j.checkTimes(r, j.shares[player])
		} else if e.accepted {
			j.addViolation("question %d: the answer of %s was accepted, who was out", r.asked.Question, player)
		}
	}
	return known
}

// score sums up the evidence for a question.
type score struct {
	accepted, right int64
	newest          int64 // elapsed ms of the last answer
	unsure          bool
}

func scoreOf(known map[string]evidence) (t score) {
	for _, e := range known {
		t.unsure = t.unsure || e.unsure
		if e.accepted {
			t.accepted++
			t.newest = max(t.newest, e.elapsed)
		}
		if e.correct {
			t.right++
		}
	}
	return t
}

// sealGraceMS is how long after closes_at a question is sealed.
const sealGraceMS = 150

// checkTimes checks the times of an accepted answer.
func (j *judgement) checkTimes(r *round, s *share) {
	g := s.answers[r.asked.Question]
	if g == nil || g.reply == nil {
		return
	}
	if g.said.At > r.closesAt || g.said.ElapsedMS != player.ElapsedMS(r.asked, g.said.At) {
		j.addViolation("question %d from %d to %d: an answer got %s", r.asked.Question, r.asked.OpensAt, r.closesAt, g.reply)
	}
	if g.closed && !r.extended() {
		j.addViolation("question %d was closed to an answer that got %s", r.asked.Question, g.reply)
	}
}

// first checks which player the server named as first in a buzzer match. Exactly the
// players with a right answer must be first.
func (j *judgement) first(r *round, known map[string]evidence) {
	first := r.closed.First
	if first != nil {
		j.firsts[first.Team]++
	}
	if (first != nil) != (r.closed.Reason == "first_correct") || first != nil && j.found.Mode != "buzzer" {
		j.addViolation("question %d was closed by %s, and its first is %+v", r.asked.Question, r.closed.Reason, first)
	}
	if j.found.Mode != "buzzer" {
		return
	}
	for player, e := range known {
		was := first != nil && first.Player == player
		if !e.unsure && e.correct != was {
			j.addViolation("question %d: %s was right: %v, and is its first: %v", r.asked.Question, player, e.correct, was)
		}
		if g := j.shares[player].answers[r.asked.Question]; g != nil && g.reply != nil &&
			(g.said.Correct == nil || g.said.First == nil || *g.said.Correct != e.correct || *g.said.First != was) {
			j.addViolation("question %d: %s was right: %v, is its first: %v, and was answered %s", r.asked.Question, player, e.correct, was, g.reply)
		}
	}
}

// count adds a question to the totals, and checks what its close says about them.
func (j *judgement) count(r *round, known map[string]evidence) {
	survived, perhaps := j.found.Mode != "survival", false
	for _, e := range known {
		survived, perhaps = survived || e.correct, perhaps || e.unsure
	}
	if r.closed.Void == survived && (survived || !perhaps) {
		j.addViolation("question %d: somebody survives: %v, void: %v", r.asked.Question, survived, r.closed.Void)
	}
	for player, e := range known {
		t := j.all[player]
		points := int64(0)
		if !r.closed.Void {
			points = t.count(j.found.Mode, e)
			t.out = j.found.Mode == "survival" && !e.correct && !e.unsure
		}
		if e.correct {
			t.lasts = r.asked.Question
		}
		j.compare(r, t, e, points)
	}
	if j.found.Players <= fullView && !scoreOf(known).unsure && len(r.closed.Results) != len(known) {
		j.addViolation("question %d: its close names %d of %d players", r.asked.Question, len(r.closed.Results), len(known))
	}
}

// compare compares the results that the server sent, to all players and to the player
// alone, with the computed result.
func (j *judgement) compare(r *round, t *totals, e evidence, points int64) {
	if t.unsure {
		return
	}
	want := protocol.QuestionResult{Player: t.player, Given: e.given, Correct: e.correct, Points: points, Score: t.score, Out: t.out}
	if e.accepted {
		want.ElapsedMS = &e.elapsed
	}
	if said := r.result(t.player); said != nil && !same(*said, want) {
		j.addViolation("question %d: its close says %s, and it is %s", r.asked.Question, show(*said), show(want))
	}
	if o, ok := j.shares[t.player].owns[r.asked.Question]; ok {
		said := protocol.QuestionResult{
			Player: t.player, Given: o.Given, Correct: o.Correct, ElapsedMS: o.ElapsedMS, Points: o.Points, Score: o.Score, Out: o.Out,
		}
		if !same(said, want) {
			j.addViolation("question %d: its player is told %s, and it is %s", r.asked.Question, show(said), show(want))
		}
	}
}

func same(a, b protocol.QuestionResult) bool {
	if (a.ElapsedMS == nil) != (b.ElapsedMS == nil) || a.ElapsedMS != nil && *a.ElapsedMS != *b.ElapsedMS {
		return false
	}
	given := a.ElapsedMS == nil || bytes.Equal(a.Given, b.Given)
	return given && a.Correct == b.Correct && a.Points == b.Points && a.Score == b.Score && a.Out == b.Out
}

func show(r protocol.QuestionResult) string {
	elapsed := "none"
	if r.ElapsedMS != nil {
		elapsed = fmt.Sprint(*r.ElapsedMS, " ms")
	}
	return fmt.Sprintf("%s: given %s in %s, correct %v, points %d, score %d, out %v",
		r.Player, r.Given, elapsed, r.Correct, r.Points, r.Score, r.Out)
}
