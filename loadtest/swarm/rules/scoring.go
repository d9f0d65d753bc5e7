package rules

import (
	"bytes"
	"fmt"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// Finish scores a match that is over by section 3 of the contract, compares the score
// with what the player received, and returns it. Every answer must have had its reply.
func (m *Match) Finish() (Sums, error) {
	k := scoring{Match: m}
	if m.over.Reason == "abandoned" {
		return k.sums, m.violation("it was abandoned")
	}
	for _, r := range m.rounds {
		if r.closed == nil { // a player left, or the host closed the arena
			continue
		}
		if err := k.checkRound(r); err != nil {
			return k.sums, err
		}
	}
	k.sums.Matches = 1
	for _, s := range m.over.Standings {
		shown := Sums{Score: s.Score, TimeMS: s.TimeMS, Matches: 1, Asked: s.Asked, Answered: s.Answered, Correct: s.Correct}
		if s.Player == m.player && shown != k.sums {
			return k.sums, m.violation("its end says %+v, and it was %+v", shown, k.sums)
		}
	}
	return k.sums, nil
}

// scoring computes the score of a match, question by question.
type scoring struct {
	*Match
	sums  Sums
	isOut bool
}

func (k *scoring) checkRound(r *round) error {
	limit := r.asked.ClosesAt - r.asked.OpensAt
	k.inferReply(r)
	if err := k.checkTimes(r); err != nil {
		return err
	}
	if k.isOut {
		if r.reply != nil {
			return k.violation("question %d: an answer was accepted of who was out", r.asked.Question)
		}
		return nil
	}
	right := r.reply != nil && player.Reveal(r.closed.Answer).IsCorrect(r.given)
	if err := k.checkFirst(r, right); err != nil {
		return err
	}
	points := int64(0)
	if !r.closed.Void {
		points = k.scoreQuestion(r, right, limit)
		k.isOut = k.found.Mode == "survival" && !right
	}
	want := protocol.QuestionResult{Correct: right, Points: points, Score: k.sums.Score, Out: k.isOut}
	if r.reply != nil {
		want.Given, want.ElapsedMS = r.given, &r.reply.ElapsedMS
	}
	for _, shown := range r.results {
		if !same(shown, want) {
			return k.violation("question %d: its player was told %s, and it is %s", r.asked.Question, show(shown), show(want))
		}
	}
	return nil
}

// checkTimes checks the times of an accepted answer.
func (k *scoring) checkTimes(r *round) error {
	if r.reply == nil || r.reply.At <= r.closesAt && r.reply.ElapsedMS == player.ElapsedMS(r.asked, r.reply.At) {
		return nil
	}
	return k.violation("question %d from %d to %d: an answer got %+v", r.asked.Question, r.asked.OpensAt, r.closesAt, *r.reply)
}

// checkFirst checks the first player of a buzzer question. Only a player whose reply says
// first may be named, and that player must be named.
func (k *scoring) checkFirst(r *round, right bool) error {
	if k.found.Mode != "buzzer" {
		return nil
	}
	was := r.closed.First != nil && r.closed.First.Player == k.player
	shown := r.reply != nil && r.reply.First != nil && *r.reply.First
	if was != shown || was != right {
		return k.violation("question %d: its first is %+v; this player was right: %v, and told to be first: %v", r.asked.Question, r.closed.First, right, shown)
	}
	if (r.closed.First != nil) != (r.closed.Reason == "first_correct") {
		return k.violation("question %d was closed by %s, and its first is %+v", r.asked.Question, r.closed.Reason, r.closed.First)
	}
	return nil
}

// scoreQuestion adds one question to the score and returns its points.
func (k *scoring) scoreQuestion(r *round, right bool, limit int64) (points int64) {
	k.sums.Asked++
	if r.reply != nil {
		k.sums.Answered++
	}
	if !right {
		k.sums.TimeMS += limit
		return 0
	}
	elapsed := min(r.reply.ElapsedMS, limit)
	points = 100 + 100*(limit-elapsed)/limit
	if k.found.Mode == "buzzer" {
		points = 100
	}
	k.sums.Correct++
	k.sums.Score += points
	k.sums.TimeMS += elapsed
	return points
}

func same(a, b protocol.QuestionResult) bool {
	if (a.ElapsedMS == nil) != (b.ElapsedMS == nil) || a.ElapsedMS != nil && (*a.ElapsedMS != *b.ElapsedMS || !bytes.Equal(a.Given, b.Given)) {
		return false
	}
	return a.Correct == b.Correct && a.Points == b.Points && a.Score == b.Score && a.Out == b.Out
}

func show(r protocol.QuestionResult) string {
	elapsed := "none"
	if r.ElapsedMS != nil {
		elapsed = fmt.Sprint(*r.ElapsedMS, " ms")
	}
	return fmt.Sprintf("given %s in %s, correct %v, points %d, score %d, out %v", r.Given, elapsed, r.Correct, r.Points, r.Score, r.Out)
}
