package match

import (
	"fmt"
	"testing"
	"time"
)

// answerEverythingRight answers every question right for both players at their nodes, and
// retries until the store accepts.
func (c *cluster) answerEverythingRight(plan *Plan, nodeOfAda, nodeOfBob *node) {
	c.Helper()
	for i := range plan.Questions {
		c.passUntil(plan, PhaseOpen, i)
		for player, n := range map[string]*node{ada: nodeOfAda, bob: nodeOfBob} {
			c.answerUntilAccepted(plan, n, player, i)
		}
	}
	c.passUntil(plan, PhaseOver, len(plan.Questions)-1)
}

// answerUntilAccepted sends an answer until it is accepted, like a client.
func (c *cluster) answerUntilAccepted(plan *Plan, n *node, player string, question int) {
	c.Helper()
	for range 100 {
		_, err := n.answer(plan, player, question, rightAnswer(&plan.Questions[question]))
		if err == nil {
			return
		}
		if errorCode(err) != "failed" {
			c.Fatalf("question %d of %s: %v", question, player, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.Fatalf("question %d of %s was never accepted", question, player)
}

// checkPlayedToEnd checks that a match was played to its end with all answers.
func (c *cluster) checkPlayedToEnd(plan *Plan, sessions ...*frameRecorder) {
	c.Helper()
	result, ok := c.store.result(plan.ID)
	if !ok || result.Questions != len(plan.Questions) || result.Reason != ReasonFinished {
		c.Fatalf("%v, %+v", ok, result)
	}
	for _, entry := range result.Standings {
		if entry.Correct != len(plan.Questions) || entry.Answered != len(plan.Questions) {
			c.Errorf("%+v", entry)
		}
	}
	c.checkWholeLog(plan, sessions...)
	c.checkStepsAppliedOnce()
}

// Two nodes compete for each step of a match. One applies it, and both players
// see everything.
func TestTwoNodesApplyEachStepOnce(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan, sessionA, sessionB := c.startDuelAt(nodeA, nodeB, 10)
		c.answerEverythingRight(plan, nodeA, nodeB)
		c.sleep(1100 * time.Millisecond) // one recovery round
		c.checkPlayedToEnd(plan, sessionA, sessionB)
		if results := len(nodeA.results()) + len(nodeB.results()); results != 1 {
			c.Errorf("%d nodes reported the result", results)
		}
	})
}

// The pushes of another node arrive within a second, from the log.
func TestMissedPushesArriveWithinASecond(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan, _, sessionB := c.startDuelAt(nodeA, nodeB, 1)
		c.passUntil(plan, PhaseOpen, 0)
		time.Sleep(1500 * time.Millisecond) // both nodes know that it is open
		nodeA.answerRight(plan, ada, 0)
		c.sleep(1010 * time.Millisecond)
		if seen := sessionB.lastOfType(c, "answer.seen").Data; seen.Player != ada {
			c.Errorf("%+v", seen)
		}
		c.checkWholeLog(plan, sessionB)
	})
}

// A node dies in any phase. Another node, which never had a player of the
// match, continues it within 3 s. Players who move there see everything.
func TestMatchContinuesAfterNodeDies(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{PhaseCountdown, PhaseOpen, PhaseRevealed} {
		runNamedInCluster(t, string(phase), func(c *cluster) {
			nodeA, nodeB := c.startNode(), c.startNode()
			sessionA := nodeA.openSession(ada)
			plan := nodeA.startDuel(c, 3)
			question := map[Phase]int{PhaseCountdown: -1}[phase]
			c.passUntil(plan, phase, question)
			nodeA.kill()
			before := sessionA.decodedFrames(c)
			due := c.store.state(plan.ID).DueAt
			time.Sleep(time.Duration(due-now()+3000) * time.Millisecond)
			if state := c.store.state(plan.ID); state.Phase == phase && state.Question == question && !state.Extended {
				c.Fatalf("3 s after its deadline the match is still at %+v", state)
			}
			last := before[len(before)-1].Seq
			sessionB := nodeB.attach(plan, ada, last)
			c.passUntil(plan, PhaseOver, 2)
			c.checkReceivedLog(plan, sessionB, last)
			c.checkStepsAppliedOnce()
			if len(nodeB.results()) != 1 {
				c.Errorf("%d results", len(nodeB.results()))
			}
		})
	}
}

// The players are at two nodes. Both nodes die after the last answer and before the close. The
// close is due at once.
func TestQuestionClosesAfterNodesDie(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB, survivor := c.startNode(), c.startNode(), c.startNode()
		plan := newArena(Race, 2)
		c.startArena(plan, 2, nodeA, nodeB)
		for i, n := range []*node{nodeA, nodeB} {
			_, _, err := n.Answer(c.Context(), Submission{Player: plan.arenaSeat(i).Player, ArrivedAt: now(), Answer: answerTo(plan, 0, rightAnswer(&plan.Questions[0]))})
			c.requireNoError(err)
		}
		if state := c.store.state(plan.ID); state.Phase != PhaseOpen || state.Answered != 2 {
			c.Fatalf("%+v", state)
		}
		nodeA.kill()
		nodeB.kill()
		time.Sleep(2500 * time.Millisecond)
		if state := c.store.state(plan.ID); state.Phase != PhaseRevealed || state.CloseReason != closeReasonAllAnswered {
			c.Errorf("%+v", state)
		}
		if matches, _ := survivor.countLocalMatches(); matches != 1 {
			c.Errorf("the third node holds %d matches", matches)
		}
	})
}

// A match that cannot be read does not delay those after it.
func TestSweepContinuesAfterFailedMatch(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		dead, n := c.startNode(), c.startNode()
		for _, id := range []string{"m_a", "m_b", "m_c"} {
			c.requireNoError(dead.StartDuel(c.Context(), newPlan(id, now()+1000, 1)))
		}
		dead.kill()
		n.store.setFault(func(_, match string) fault {
			if match == "m_a" {
				return failsBefore
			}
			return noFault
		})
		time.Sleep(4 * time.Second)
		for id, want := range map[string]Phase{"m_a": PhaseCountdown, "m_b": PhaseOpen, "m_c": PhaseOpen} {
			if got := c.store.state(id).Phase; got != want {
				c.Errorf("%s is %s, want %s", id, got, want)
			}
		}
	})
}

// A match whose keys have expired is removed from the index and from the node's
// memory.
func TestExpiredMatchIsRemoved(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(ada)
		plan := n.startDuel(c, 1)
		c.store.mu.Lock()
		c.store.matches[plan.ID].expiresAt = now() + 1
		c.store.mu.Unlock()
		time.Sleep(6 * time.Second)
		if due, err := c.store.ListDue(c.Context(), now()); err != nil || len(due) != 0 {
			c.Errorf("still due: %v, %v", due, err)
		}
		if matches, players := n.countLocalMatches(); matches != 0 || players != 0 {
			c.Errorf("%d matches, %d players", matches, players)
		}
		if n.IsInMatch("demo", ada) {
			c.Error("the player still counts as playing")
		}
	})
}

func TestOverloadByUnsettledResults(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		for i := range maxUnsettled - 1 {
			c.store.pending[fmt.Sprint("other ", i)] = Result{}
		}
		plan := n.startDuel(c, 1)
		if err := n.CheckOverload(); err != nil {
			c.Error(err)
		}
		c.passUntil(plan, PhaseOver, 0)
		c.sleep(time.Second)
		if err := n.CheckOverload(); err != ErrOverloaded { //nolint:errorlint // it is not wrapped
			c.Errorf("%v with a result that waits", err)
		}
		if unsettled, err := n.IsUnsettled(c.Context(), plan.ID); err != nil || !unsettled {
			c.Errorf("unsettled: %v, %v", unsettled, err)
		}
		time.Sleep(10 * time.Minute) // the match itself has expired
		if unsettled, err := n.IsUnsettled(c.Context(), plan.ID); err != nil || !unsettled {
			c.Errorf("unsettled, long after: %v, %v", unsettled, err)
		}
		c.store.mu.Lock()
		delete(c.store.pending, plan.ID)
		c.store.mu.Unlock()
		c.sleep(time.Second)
		if err := n.CheckOverload(); err != nil {
			c.Error(err)
		}
	})
}
