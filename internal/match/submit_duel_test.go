package match

import (
	"testing"
	"time"

	"laststand/internal/protocol"
)

// startAnsweredDuel starts a duel with both players at one node. The first has answered the
// first question.
func startAnsweredDuel(c *cluster) (n *node, plan *Plan, sessions []*frameRecorder) {
	c.Helper()
	n = c.startNode()
	sessions = []*frameRecorder{n.openSession(ada), n.openSession(bob)}
	plan = n.startDuel(c, 2)
	c.passUntil(plan, PhaseOpen, 0)
	n.answerRight(plan, ada, 0)
	return n, plan, sessions
}

// The last answer was accepted at another node, and this node has not heard of it. The store
// refuses the step, and then the answer.
func TestLastAnswerIsNotAcceptedTwice(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, plan, sessions := startAnsweredDuel(c)
		c.commitElsewhere(plan, bob, 0)
		_, err := n.answer(plan, bob, 0, rightAnswer(&plan.Questions[0]))
		if errorCode(err) != string(protocol.CodeDuplicateAnswer) {
			c.Errorf("%v", err)
		}
		c.passUntil(plan, PhaseOver, 1)
		if over := sessions[0].lastOfType(c, "match.over").Data; over.Winner != ada {
			c.Errorf("%+v", over)
		}
		c.checkWholeLog(plan, sessions[1])
	})
}

// A last answer after the deadline is late, also while the question waits for answers on the
// way.
func TestLateLastAnswerRevealsNothing(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, plan, _ := startAnsweredDuel(c)
		before := c.store.state(plan.ID)
		time.Sleep(time.Duration(before.ClosesAt+1-now()) * time.Millisecond)
		_, err := n.answer(plan, bob, 0, rightAnswer(&plan.Questions[0]))
		if errorCode(err) != string(protocol.CodeQuestionClosed) {
			c.Errorf("%v", err)
		}
		if after := c.store.state(plan.ID); after.Version != before.Version {
			c.Errorf("%+v became %+v", before, after)
		}
	})
}

// The reply of the store to a last answer is lost. The player sends the answer again, and it
// counts once.
func TestLastAnswerWithLostReplyCountsOnce(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, plan, sessions := startAnsweredDuel(c)
		n.store.setFault(faultOf(losesReply, "Step"))
		if _, err := n.answer(plan, bob, 0, rightAnswer(&plan.Questions[0])); err == nil {
			c.Error("the answer was accepted without a reply of the store")
		}
		n.store.setFault(nil)
		n.answerRight(plan, bob, 0)
		c.sleep(2 * time.Second)
		c.checkWholeLog(plan, sessions[0])
		closed := sessions[0].lastOfType(c, "question.closed").Data
		if state := c.store.state(plan.ID); state.Phase != PhaseRevealed || closed.Answered != 2 || closed.Right != 2 || closed.Results[0].Score != closed.Results[1].Score {
			c.Errorf("%+v, %+v", state, closed)
		}
	})
}

// A node that has read the match between the answers of two nodes knows from the store that the
// second one is the last. It reveals both at once.
func TestLastAnswerAfterReadRevealsBoth(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan, _, session := c.startDuelAt(nodeA, nodeB, 2)
		c.passUntil(plan, PhaseOpen, 0)
		nodeA.answerRight(plan, ada, 0)
		nodeB.catchUp(nodeB.findLocalMatch(plan.ID))
		nodeB.answerRight(plan, bob, 0)
		closed := session.lastOfType(c, "question.closed").Data
		if state := c.store.state(plan.ID); state.Phase != PhaseRevealed || closed.Answered != 2 || closed.Right != 2 {
			c.Errorf("%+v, %+v", state, closed)
		}
	})
}

// A node that has missed the extension of a question does not reveal it at its former end, also
// if an answer has told the node the newest version.
func TestAnswerAfterMissedExtensionRevealsNothing(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(ada)
		n.openSession(bob)
		plan := n.openDuel(c, 1)
		view, err := c.store.Read(c.Context(), ReadQuery{Match: plan.ID, Players: plan.duelPlayers(), AfterSeq: -1})
		c.requireNoError(err)
		extension := extendStep(plan, view, 2000, now())
		extension.ID = "of another node"
		if extended, err := c.store.Step(c.Context(), extension); err != nil || !extended.Applied {
			c.Fatalf("%+v, %v", extended, err)
		}
		n.store.setFault(faultOf(failsBefore, "Read"))
		n.answerRight(plan, ada, 0)
		c.sleep(time.Duration(view.DueAt+1000-now()) * time.Millisecond)
		if state := c.store.state(plan.ID); state.Phase != PhaseOpen {
			c.Errorf("it was revealed: %+v", state)
		}
		n.store.setFault(nil)
		n.answerRight(plan, bob, 0)
	})
}
