package players

import (
	"time"

	"laststand/internal/protocol"
)

// blindAnswer is the answer to a question that the player has not received.
var blindAnswer = ArbitraryAnswer(protocol.Question{Kind: "single"})

// answerElsewhere answers questions that the player has not received: of its own match, of no match,
// and of a match of others.
func (r *matchRun) answerElsewhere() {
	for _, question := range []int{0, 1, -1, 99} {
		r.answerBlindly(r.view.Match(), question)
	}
	r.answerBlindly("m_nobody", 0)
	if r.group.OtherMatch != "" {
		r.answerBlindly(r.group.OtherMatch, 0)
	}
}

func (r *matchRun) answerBlindly(match string, question int) {
	r.sendAttempt(attempt{Answer: protocol.Answer{Match: match, Question: &question, Given: blindAnswer}, isBlind: true, sentAt: time.Now()})
}

// cheat answers a question at once. It also sends the same answer again, a different answer, and an
// answer to the next question. Sometimes it uses two connections.
func (r *matchRun) cheat(q protocol.Question) {
	a := attempt{Answer: protocol.Answer{Match: r.view.Match(), Question: &q.Question, Given: ArbitraryAnswer(q)}, sentAt: time.Now()}
	r.sendAttempt(a)
	r.sendAttempt(a)
	if q.Question%3 == 1 {
		r.replaceConnection()
	}
	a.Given, a.isSecond = OtherAnswer(q, a.Given), true
	r.sendAttempt(a)
	r.answerBlindly(a.Match, q.Question+1)
}
