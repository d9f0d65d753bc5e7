package attack

import (
	"encoding/json"

	"laststand/internal/protocol"
)

// answered checks an accepted answer: one answer to a question, of its own match.
func (b *bot) answered(f receivedFrame) {
	var said protocol.Answered
	if f.Re == nil || json.Unmarshal(f.Data, &said) != nil {
		return
	}
	what, ours := b.sent[*f.Re-100]
	if !ours {
		return // of a match that is over
	}
	if what.foreign || what.question != said.Question || what.question < 0 {
		b.addViolation("an answer to question %d of a match of others was accepted: %s", what.question, f.Data)
		return
	}
	q := b.asked[said.Question]
	if q == nil {
		b.early[said.Question] = said.At
		return
	}
	if q.accepted[what.given] = true; len(q.accepted) > 1 {
		b.addViolation("two answers to question %d of %s were accepted: %v", said.Question, b.match, q.accepted)
	}
	if said.ElapsedMS < 0 {
		b.addViolation("an answer was accepted after %d ms", said.ElapsedMS)
	}
}

// judge compares the result of a question with the accepted answer.
func (b *bot) judge(f receivedFrame) {
	var closed protocol.QuestionClosed
	if json.Unmarshal(f.Data, &closed) != nil {
		return
	}
	q := b.asked[closed.Question]
	for _, r := range closed.Results {
		if r.Player != b.sub || q == nil || q.judged {
			continue
		}
		q.judged = true
		b.score += r.Points
		if r.Points > b.worth(q, r) {
			b.addViolation("question %d of %s gave %d points: %s", closed.Question, b.match, r.Points, f.Data)
		}
		if given := string(r.Given); given != "null" && len(q.accepted) == 1 && !q.accepted[given] {
			b.addViolation("question %d of %s counted %s, and %v was accepted", closed.Question, b.match, given, q.accepted)
		}
	}
}

// worth returns the points of an answer by section 3 of the contract.
func (b *bot) worth(q *asked, r protocol.QuestionResult) int64 {
	limit := q.ClosesAt - q.OpensAt
	if !r.Correct || r.ElapsedMS == nil || *r.ElapsedMS < 0 || limit <= 0 {
		return 0
	}
	return 100 + 100*(limit-min(*r.ElapsedMS, limit))/limit
}

// over compares the end of a match with its questions.
func (b *bot) over(f receivedFrame) {
	var over protocol.MatchOver
	if json.Unmarshal(f.Data, &over) != nil {
		return
	}
	for question := range b.early {
		if b.asked[question] == nil {
			b.addViolation("an answer to question %d of %s was accepted, which was never asked", question, b.match)
		}
	}
	for _, s := range over.Standings {
		if s.Player == b.sub && (s.Score > b.score || s.Answered > s.Asked) {
			b.addViolation("%s gave %d points for %d answers to %d questions, and %d were seen", b.match, s.Score, s.Answered, s.Asked, b.score)
		}
	}
	b.served()
}
