package match

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// errorCode is the wire code of an error: "" for nil, "failed" for an error that
// is not a refusal.
func errorCode(err error) string {
	var refused *protocol.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return string(refused.Code)
	}
	return "failed"
}

// If several things are wrong with an answer, the refusal names the one that
// comes first in the contract.
func TestRefusalNamesFirstReasonOfContract(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := n.startDuel(c, 5)
		malformed := protocol.Given{Value: json.RawMessage(`"text"`)}
		checkRefusal := func(situation string, player string, answer protocol.Answer, want string) {
			c.Helper()
			reply, afterReply, err := n.Answer(c.Context(), Submission{Player: player, ArrivedAt: now(), Answer: answer})
			afterReply()
			if errorCode(err) != want {
				c.Errorf("%s: %v, want %q", situation, err, want)
			}
			if err != nil && reply != (protocol.Answered{}) {
				c.Errorf("%s: the refusal comes with the reply %+v", situation, reply)
			}
		}
		toUnknownMatch := answerTo(plan, 99, malformed)
		toUnknownMatch.Match = "m_none"
		checkRefusal("unknown match, all else wrong too", ada, toUnknownMatch, "not_in_match")
		checkRefusal("no seat, all else wrong too", "p_eve", answerTo(plan, 99, malformed), "not_in_match")
		checkRefusal("no question number", ada, protocol.Answer{Match: plan.ID, Given: malformed}, "bad_request")
		checkRefusal("question number too high", ada, answerTo(plan, 5, malformed), "bad_request")
		checkRefusal("question below 0", ada, answerTo(plan, -1, malformed), "bad_request")
		checkRefusal("countdown", ada, answerTo(plan, 0, rightAnswer(&plan.Questions[0])), "question_not_open")
		checkRefusal("countdown, malformed", ada, answerTo(plan, 0, malformed), "question_not_open")

		c.passUntil(plan, PhaseOpen, 0)
		checkRefusal("next question, malformed", ada, answerTo(plan, 1, malformed), "question_not_open")
		checkRefusal("next question", ada, answerTo(plan, 1, rightAnswer(&plan.Questions[1])), "question_not_open")
		checkRefusal("malformed", ada, answerTo(plan, 0, malformed), "invalid_answer")
		checkRefusal("right answer after refusals", ada, answerTo(plan, 0, rightAnswer(&plan.Questions[0])), "")
		checkRefusal("second answer, malformed", ada, answerTo(plan, 0, malformed), "invalid_answer")
		checkRefusal("second answer", ada, answerTo(plan, 0, wrongAnswer(&plan.Questions[0])), "duplicate_answer")

		c.passUntil(plan, PhaseRevealed, 0)
		checkRefusal("closed, second answer", ada, answerTo(plan, 0, wrongAnswer(&plan.Questions[0])), "duplicate_answer")
		checkRefusal("closed", bob, answerTo(plan, 0, rightAnswer(&plan.Questions[0])), "question_closed")
		checkRefusal("closed, malformed", bob, answerTo(plan, 0, malformed), "invalid_answer")
		checkRefusal("closed, answer to the next question", bob, answerTo(plan, 1, rightAnswer(&plan.Questions[1])), "question_not_open")

		c.passUntil(plan, PhaseOpen, 1)
		checkRefusal("earlier question, second answer", ada, answerTo(plan, 0, wrongAnswer(&plan.Questions[0])), "duplicate_answer")
		checkRefusal("earlier question", bob, answerTo(plan, 0, rightAnswer(&plan.Questions[0])), "question_closed")
		c.passUntil(plan, PhaseOver, 4)
		checkRefusal("over", bob, answerTo(plan, 4, rightAnswer(&plan.Questions[4])), "question_closed")
		checkRefusal("over, second answer", ada, answerTo(plan, 0, wrongAnswer(&plan.Questions[0])), "duplicate_answer")
	})
}

// A repeated answer gets the same reply for as long as the match is stored. A
// different answer is refused, and the refusal contains the accepted answer.
func TestSecondAnswerIsRepeatedOrRefused(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(bob)
		plan := n.openDuel(c, 2)
		c.passUntil(plan, PhaseRevealed, 0)
		c.passUntil(plan, PhaseOpen, 1) // the question of kind multiple
		first := n.mustAnswer(plan, ada, 1, protocol.Given{Choices: []int{2, 0}})
		for _, phase := range []Phase{PhaseOpen, PhaseRevealed, PhaseOver} {
			c.passUntil(plan, phase, 1)
			time.Sleep(time.Second)
			repeated, err := n.answer(plan, ada, 1, protocol.Given{Choices: []int{0, 2}})
			if err != nil || repeated != first {
				c.Errorf("%s: same answer repeated: %+v, %v, first reply %+v", phase, repeated, err, first)
			}
			_, err = n.answer(plan, ada, 1, protocol.Given{Choices: []int{1}})
			var refused *protocol.Error
			if !errors.As(err, &refused) || refused.Accepted == nil {
				c.Fatalf("%s: different answer: %v", phase, err)
			}
			if accepted := refused.Accepted; string(accepted.Given) != `{"choices":[2,0]}` || accepted.At != first.At || accepted.ElapsedMS != first.ElapsedMS || accepted.Question != 1 {
				c.Errorf("%s: accepted %+v", phase, accepted)
			}
		}
		seenPushes := 0
		for _, received := range session.decodedFrames(c) {
			if received.Type == "answer.seen" {
				seenPushes++
			}
		}
		if seenPushes != 1 {
			c.Errorf("answer.seen was pushed %d times", seenPushes)
		}
		c.checkWholeLog(plan, session)
	})
}

// An answer is pushed before its reply is returned, so that a session can write both at once,
// in the right order: it holds pushes back during a request.
func TestPushesComeWithTheReply(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		plan := n.openDuel(c, 1)
		for i, player := range []string{bob, ada} {
			before := len(session.frames())
			_, afterReply, err := n.Answer(c.Context(), Submission{Player: player, ArrivedAt: now(), Answer: answerTo(plan, 0, rightAnswer(&plan.Questions[0]))})
			c.requireNoError(err)
			if newFrames := len(session.frames()) - before; newFrames != 1+i { // answer.seen, then also question.closed
				c.Errorf("%d pushes with the reply", newFrames)
			}
			afterReply()
			if newFrames := len(session.frames()) - before; newFrames != 1+i {
				c.Errorf("%d pushes after the reply", newFrames)
			}
		}
	})
}

// A node that does not know yet that a question is open asks the store. Before
// its own pushes it delivers the missed ones.
func TestNodeThatIsBehindReadsBeforeItJudgesAnswer(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan, _, session := c.startDuelAt(nodeA, nodeB, 2)
		nodeB.store.setFault(faultOf(failsBefore, "ReadProgress"))
		c.bus.removeNode(nodeB.Node)
		nodeB.Wheel.Close()
		for i := range plan.Questions {
			c.passUntil(plan, PhaseOpen, i)
			if _, err := nodeB.answer(plan, bob, i, rightAnswer(&plan.Questions[i])); err != nil {
				c.Errorf("question %d: %v", i, err)
			}
			c.sleep(60 * time.Millisecond)
			c.checkWholeLog(plan, session)
		}
	})
}

// A node that judged by an outdated opening time judges again.
func TestAnswerIsJudgedAgainAfterOutdatedOpening(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(ada)
		plan := n.openDuel(c, 1)
		outdated := c.store.state(plan.ID)
		outdated.OpensAt -= 4000
		local := n.findLocalMatch(plan.ID)
		local.deliver(delivery{state: &outdated})
		local.duel = duelAnswers{} // the store judges the answer
		time.Sleep(time.Second)
		got, err := n.answer(plan, ada, 0, rightAnswer(&plan.Questions[0]))
		if want := now() - c.store.state(plan.ID).OpensAt; err != nil || got.ElapsedMS != want {
			c.Errorf("%+v, %v, want %d ms", got, err, want)
		}
	})
}

// A node's clock is 9.5 s behind the clock of the node that opens the
// questions. Its player's answer would seem very fast. It counts as late as the
// limit, so it earns no speed points, and the reply contains that time.
func TestClockThatIsBehindEarnsNoSpeedPoints(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		ahead, behind := c.startNodeAhead(9500*time.Millisecond), c.startNode()
		ahead.openSession(ada)
		session := behind.openSession(bob)
		plan := newPlan("m_1", ahead.Now()+3000, 2)
		c.requireNoError(ahead.StartDuel(c.Context(), plan))
		c.requireNoError(behind.AttachSession(c.Context(), "demo", plan.ID, bob))
		c.passUntil(plan, PhaseOpen, 0)
		time.Sleep(1500 * time.Millisecond)
		got, err := behind.answer(plan, bob, 0, rightAnswer(&plan.Questions[0]))
		if err != nil || got.ElapsedMS != plan.LimitMS {
			c.Fatalf("%+v, %v", got, err)
		}
		c.passUntil(plan, PhaseRevealed, 0)
		for _, result := range session.lastOfType(c, "question.closed").Data.Results {
			if result.Player == bob && (result.Points != 100 || *result.ElapsedMS != plan.LimitMS) {
				c.Errorf("%+v", result)
			}
		}
	})
}
