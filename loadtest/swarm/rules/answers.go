package rules

import (
	"bytes"
	"encoding/json"
	"slices"

	"laststand/internal/protocol"
)

// RecordAnswer records the first answer that the player sends.
func (m *Match) RecordAnswer(a protocol.Answer) {
	if r := m.round(*a.Question); r != nil && r.given == nil {
		r.given, _ = json.Marshal(a.Given) // plain fields always encode
	}
}

// RecordReply records the reply that accepts an answer. The parameter second marks an
// answer that differs from the first one; the server must not accept it.
func (m *Match) RecordReply(a protocol.Answer, reply protocol.Answered, second bool) error {
	r := m.round(*a.Question)
	switch {
	case r == nil || r.given == nil || reply.Question != *a.Question:
		return m.violation("the answer to question %d got %+v", *a.Question, reply)
	case second:
		given, _ := json.Marshal(a.Given)
		return m.violation("question %d: after %s a second answer %s was accepted: %+v", reply.Question, r.given, given, reply)
	case r.reply != nil && (r.reply.At != reply.At || r.reply.ElapsedMS != reply.ElapsedMS):
		return m.violation("question %d: the same answer got %+v and then %+v", reply.Question, *r.reply, reply)
	}
	r.reply = &reply
	return nil
}

// MarkUnsure notes that the server refused the first answer for now. The answer may count
// nevertheless. Without a later reply, the result of the question decides.
func (m *Match) MarkUnsure(a protocol.Answer) {
	if r := m.round(*a.Question); r != nil {
		r.isUnsure = true
	}
}

// inferReply infers a missing reply from the published result of the answer.
func (m *Match) inferReply(r *round) {
	for _, one := range r.results {
		if r.reply == nil && r.isUnsure && one.ElapsedMS != nil && bytes.Equal(one.Given, r.given) {
			first := r.closed.First != nil && r.closed.First.Player == m.player
			r.reply = &protocol.Answered{Question: r.asked.Question, At: r.asked.OpensAt + *one.ElapsedMS, ElapsedMS: *one.ElapsedMS, First: &first}
		}
	}
}

// afterAccepted lists the codes with which the server may refuse a second answer.
var afterAccepted = []protocol.Code{protocol.CodeDuplicateAnswer, protocol.CodeEliminated, protocol.CodeRateLimited}

// RecordRefusal records the final refusal of an answer.
func (m *Match) RecordRefusal(a protocol.Answer, e protocol.Error, second bool) error {
	r := m.round(*a.Question)
	switch {
	case r == nil || r.given == nil:
		return m.violation("question %d was not answered and got %s", *a.Question, e.Code)
	case second && e.Code == protocol.CodeDuplicateAnswer:
		return m.checkAccepted(r, e.Accepted)
	case second && slices.Contains(afterAccepted, e.Code):
		return nil
	case second || e.Code != protocol.CodeQuestionClosed && e.Code != protocol.CodeEliminated:
		return m.violation("question %d: an answer got %s (%s)", r.asked.Question, e.Code, e.Message)
	case r.reply != nil:
		return m.violation("question %d: an accepted answer got %s", r.asked.Question, e.Code)
	}
	r.isRefused = true
	r.isUnsure = r.isUnsure && e.Code != protocol.CodeQuestionClosed // the server reports that a player is out before it reports that the player has answered
	return nil
}

// checkAccepted compares the answer that a refusal names with the accepted answer.
func (m *Match) checkAccepted(r *round, a *protocol.AcceptedAnswer) error {
	if r.reply == nil || a == nil || a.At != r.reply.At || a.ElapsedMS != r.reply.ElapsedMS || !bytes.Equal(a.Given, r.given) {
		return m.violation("question %d: the answer %s got %+v, and a second one is refused for %+v", r.asked.Question, r.given, r.reply, a)
	}
	return nil
}
