package match

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// A last answer after the deadline is refused when the question has closed, and reveals nothing
// before.
func TestLateLastAnswerWaitsForClose(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, plan, _ := startAnsweredDuel(c)
		open := c.store.state(plan.ID)
		c.sleep(time.Duration(open.ClosesAt+1-now()) * time.Millisecond)
		n.answerRefused(plan, bob, 0, rightAnswer(&plan.Questions[0]), "question_closed")
		if closed := c.store.state(plan.ID); closed.Phase != PhaseRevealed || now() != open.DueAt {
			c.Errorf("%d ms after its end: %+v", now()-open.ClosesAt, closed)
		}
	})
}

// A node that stalls has received an answer in time. The player sends it to another node, too
// late. If that node says that the question is closed, then the answer never counts.
func TestRefusalOfLateAnswerStaysTrue(t *testing.T) {
	for name, release := range map[string]time.Duration{"before the close": 100 * time.Millisecond, "after it": time.Second} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *cluster) {
				stalled, other := c.startNode(), c.startNode()
				plan, _, session := c.startDuelAt(stalled, other, 1)
				c.passUntil(plan, PhaseOpen, 0)
				open, right := c.store.state(plan.ID), rightAnswer(&plan.Questions[0])
				continued := make(chan struct{})
				stalled.store.setFault(func(method, _ string) fault {
					if method == "Step" {
						<-continued
					}
					return noFault
				})
				first := make(chan error)
				go func() {
					_, err := stalled.answer(plan, ada, 0, right)
					first <- err
				}()
				c.sleep(time.Duration(open.ClosesAt+1-now()) * time.Millisecond)
				time.AfterFunc(release, func() { close(continued) })
				_, late := other.answer(plan, ada, 0, right)
				if err := <-first; errorCode(err) != errorCode(late) {
					c.Errorf("the first answer: %v, the late one: %v", err, late)
				}
				c.passUntil(plan, PhaseRevealed, 0)
				closed := session.lastOfType(c, "question.closed").Data
				if isRefused := late != nil; isRefused != (release > answerGraceMS*time.Millisecond) || isRefused == (closed.Answered == 1) {
					c.Errorf("%v, %+v", late, closed)
				}
			})
		})
	}
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
// if an answer has failed in between.
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
		if _, err := n.answer(plan, ada, 0, rightAnswer(&plan.Questions[0])); !errors.Is(err, errDown) {
			c.Errorf("%v", err)
		}
		c.sleep(time.Duration(view.DueAt+1000-now()) * time.Millisecond)
		if state := c.store.state(plan.ID); state.Phase != PhaseOpen {
			c.Errorf("it was revealed: %+v", state)
		}
		n.store.setFault(nil)
		n.answerRight(plan, ada, 0)
		n.answerRight(plan, bob, 0)
	})
}

// Messages tell each node of a duel what the other one has accepted. So an answer is accepted
// without a read, whichever node has opened the question and taken the other answer.
func TestDuelOfTwoNodesIsPlayedWithoutReads(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan, sessionA, sessionB := c.startDuelAt(nodeA, nodeB, 4)
		var isAnswering atomic.Bool
		var reads atomic.Int64
		for _, n := range []*node{nodeA, nodeB} {
			n.store.setFault(func(method, _ string) fault {
				if method == "Read" && isAnswering.Load() {
					reads.Add(1)
				}
				return noFault
			})
		}
		for i := range plan.Questions {
			c.passUntil(plan, PhaseOpen, i)
			synctest.Wait() // a node that was not the first to take the step has read the duel
			isAnswering.Store(true)
			players := []string{ada, bob}
			if i%2 == 1 {
				players = []string{bob, ada}
			}
			for _, player := range players {
				map[string]*node{ada: nodeA, bob: nodeB}[player].answerRight(plan, player, i)
				synctest.Wait()
			}
			isAnswering.Store(false)
		}
		if reads.Load() > 0 {
			c.Errorf("%d reads", reads.Load())
		}
		c.passUntil(plan, PhaseOver, 3)
		c.checkPlayedToEnd(plan, sessionA, sessionB)
	})
}
