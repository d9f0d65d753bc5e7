package checker

import (
	"bytes"
	"encoding/json"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// Sent notes an answer that the client sends to a question of its match.
func (v *View) Sent(a protocol.Answer) {
	if v.part == nil || v.part.hasEnded {
		return
	}
	given, noted := encodeGiven(a), v.part.answers[*a.Question]
	if noted == nil {
		noted = new(answer)
		v.part.answers[*a.Question] = noted
	}
	if !noted.has(given) {
		noted.sent = append(noted.sent, given)
	}
}

// sentAnswer returns what was sent to the question, nil if the client did not send this
// answer.
func (v *View) sentAnswer(a protocol.Answer) *answer {
	if v.part == nil || a.Match != v.match.id {
		return nil
	}
	if sent := v.part.answers[*a.Question]; sent != nil && sent.has(encodeGiven(a)) {
		return sent
	}
	return nil
}

// Accepted takes the reply that accepts an answer. The same answer always gets the same
// reply; known reports that this answer already had it.
func (v *View) Accepted(a protocol.Answer, data json.RawMessage) (known bool, err error) {
	defer testenv.Recover(&err)
	sent, given, reply := v.sentAnswer(a), encodeGiven(a), decode[protocol.Answered](data)
	BreachIf(sent == nil, "the server accepted an answer to question %d of %s that the player did not send: %s", *a.Question, a.Match, data)
	BreachIf(reply.Question != *a.Question || *a.Question < 0, "the answer to question %d of %s got %s", *a.Question, a.Match, data)
	if sent.accepted != nil {
		BreachIf(!bytes.Equal(sent.accepted, given), "question %d of %s: after %s a second answer %s was accepted: %s", *a.Question, a.Match, sent.accepted, given, data)
		BreachIf(!bytes.Equal(sent.replyData, data), "question %d of %s: the same answer got %s and then %s", *a.Question, a.Match, sent.replyData, data)
		return true, nil
	}
	sent.accepted, sent.replyData, sent.reply, sent.isEarly = given, data, reply, *a.Question >= v.asked
	return false, nil
}

// Refused takes an error reply to an answer; attempts is how often the client has sent
// the request. A server that has lost its store may have accepted the answer all the
// same, and it refuses every request of an eliminated player alike.
func (v *View) Refused(a protocol.Answer, e protocol.Error, attempts int) error {
	sent := v.sentAnswer(a)
	switch {
	case sent == nil:
		return ContractError("the server refused an answer to question %d of %s that the player did not send: %s", *a.Question, a.Match, e.Code)
	case *a.Question < 0 || *a.Question >= v.asked: // any refusal of an answer to no question is right
		return nil
	}
	switch e.Code {
	case protocol.CodeUnavailable, protocol.CodeOverloaded:
		sent.isUnsure = true
		return nil
	case protocol.CodeRateLimited, protocol.CodeEliminated: // the server has not looked at the answer, unless it came before
		sent.isUnsure = sent.isUnsure || attempts > 1
		v.isOut = v.isOut || e.Code == protocol.CodeEliminated
		return nil
	case protocol.CodeQuestionNotOpen:
		if v.Mode() == "buzzer" && e.RetryAfterMS > 0 { // the player's team is locked out
			return nil
		}
	case protocol.CodeDuplicateAnswer:
		return v.checkDuplicate(sent, a, e.Accepted)
	case protocol.CodeQuestionClosed:
		if sent.accepted != nil {
			return ContractError("question %d of %s: an answer that was accepted (%s) is refused with %s", *a.Question, a.Match, sent.replyData, e.Code)
		}
		sent.isLate = true
		return nil
	}
	return ContractError("question %d of %s: an answer got %s (%s)", *a.Question, a.Match, e.Code, e.Message)
}

// checkDuplicate compares the answer that the refusal of a second answer names with the
// accepted answer.
func (v *View) checkDuplicate(sent *answer, a protocol.Answer, named *protocol.AcceptedAnswer) error {
	switch {
	case len(sent.sent) < 2:
		return ContractError("question %d of %s: the only answer is refused as a second one", *a.Question, a.Match)
	case sent.accepted == nil && named != nil && sent.has(named.Given):
		sent.isUnsure = true // the reply that accepted the first answer is on its way
		return nil
	case sent.accepted == nil || named == nil || !sent.matches(*named):
		return ContractError("question %d of %s: the answer %s got %s, and a second one is refused for %+v", *a.Question, a.Match, sent.accepted, sent.replyData, named)
	}
	return nil
}
