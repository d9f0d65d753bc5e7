package match

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// The store is unreachable during a question. The question is extended by the
// lost time once, and only if there is no answer.
func TestOutageExtendsQuestionOnce(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		adaAnswers     bool
		outages        int
		wantExtensions int
	}{
		"one outage, no answer":   {false, 1, 1},
		"one outage, one answer":  {true, 1, 0},
		"two outages, no answer":  {false, 2, 1},
		"no outage":               {false, 0, 0},
		"two outages, one answer": {true, 2, 0},
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			nodeA, nodeB := c.startNode(), c.startNode()
			plan, sessionA, sessionB := c.startDuelAt(nodeA, nodeB, 1)
			c.passUntil(plan, PhaseOpen, 0)
			if testCase.adaAnswers {
				nodeA.answerWrong(plan, ada, 0)
			}
			closesAt := c.store.state(plan.ID).ClosesAt
			for range testCase.outages {
				c.cutStore(2500*time.Millisecond, nodeA, nodeB)
				time.Sleep(1100 * time.Millisecond)
			}
			extensionMS := c.store.state(plan.ID).ClosesAt - closesAt
			if n := sessionA.countType(c, protocol.TypeQuestionExtended); n != testCase.wantExtensions || (extensionMS > 0) != (n > 0) {
				c.Errorf("extended by %d ms, pushed %d times", extensionMS, n)
			}
			if testCase.wantExtensions > 0 && (extensionMS < 2500 || extensionMS > 4500) {
				c.Errorf("extended by %d ms after an outage of 2500 ms", extensionMS)
			}
			c.checkAnswerInExtension(plan, nodeB, extensionMS)
			c.passUntil(plan, PhaseOver, 0)
			synctest.Wait()
			c.checkWholeLog(plan, sessionA, sessionB)
		})
	}
}

// The sweep takes long, because the store is slow for one match of another node. The
// node reaches the store all the time, so it extends no question.
func TestSlowSweepIsNoOutage(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		dead, n := c.startNode(), c.startNode()
		c.requireNoError(dead.StartDuel(c.Context(), newPlan("m_slow", now()+3000, 1)))
		dead.kill()
		session := n.openSession(ada)
		plan := n.startDuel(c, 1)
		n.store.setFault(func(_, match string) fault {
			if match != "m_slow" {
				return noFault
			}
			time.Sleep(callTimeout)
			return failsBefore
		})
		c.passUntil(plan, PhaseOver, 0)
		if extensions := session.countType(c, protocol.TypeQuestionExtended); extensions != 0 {
			c.Errorf("the question was extended %d times", extensions)
		}
	})
}

// cutStore disconnects nodes from the store for a while.
func (c *cluster) cutStore(duration time.Duration, nodes ...*node) {
	for _, n := range nodes {
		n.store.setFault(func(string, string) fault { return failsBefore })
	}
	time.Sleep(duration)
	for _, n := range nodes {
		n.store.setFault(nil)
	}
}

// checkAnswerInExtension answers during the extension. The answer is in time,
// and its time counts as the limit.
func (c *cluster) checkAnswerInExtension(plan *Plan, n *node, extensionMS int64) {
	c.Helper()
	if extensionMS == 0 {
		return
	}
	state := c.store.state(plan.ID)
	time.Sleep(time.Duration(state.ClosesAt-now()) * time.Millisecond)
	reply, err := n.answer(plan, bob, 0, rightAnswer(&plan.Questions[0]))
	if err != nil || reply.ElapsedMS != plan.LimitMS+extensionMS {
		c.Fatalf("%+v, %v", reply, err)
	}
	c.passUntil(plan, PhaseOver, 0)
	if result, _ := c.store.result(plan.ID); result.Standings[0].Player != bob || result.Standings[0].Score != 100 || result.Standings[0].TimeMS != plan.LimitMS {
		c.Errorf("%+v", result.Standings)
	}
}

// The node of a question dies. The node that takes over extends the question
// and pushes that within 3 s.
func TestLateSealExtendsQuestion(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		nodeA.openSession(ada)
		plan := nodeA.openDuel(c, 1)
		nodeA.kill()
		closesAt := c.store.state(plan.ID).ClosesAt
		for now() < closesAt+5000 && !c.store.state(plan.ID).Extended {
			time.Sleep(10 * time.Millisecond)
		}
		state := c.store.state(plan.ID)
		if delayMS := now() - closesAt; delayMS > 3000 || state.ClosesAt < now()+1000 || state.ClosesAt > now()+3000 {
			c.Errorf("%d ms late, closes in %d", delayMS, state.ClosesAt-now())
		}
		session := nodeB.attach(plan, ada, 0)
		c.passUntil(plan, PhaseOver, 0)
		c.checkWholeLog(plan, session)
		if n := session.countType(c, protocol.TypeQuestionExtended); n != 1 {
			c.Errorf("extended %d times", n)
		}
	})
}

// Many matches are extended at the same time, although the store is slow.
func TestOutageExtendsManyMatches(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		for i := range 500 {
			c.requireNoError(n.StartDuel(c.Context(), newPlan(fmt.Sprint("m_", i), now()+1000, 1)))
		}
		time.Sleep(4 * time.Second) // there are no sessions: a sweep opens the questions
		c.cutStore(3*time.Second, n)
		n.store.setFault(func(string, string) fault {
			time.Sleep(10 * time.Millisecond)
			return noFault
		})
		time.Sleep(2500 * time.Millisecond)
		extended := 0
		for _, local := range n.filterLocalMatches(func(*localMatch) bool { return true }) {
			if c.store.state(local.plan.ID).Extended {
				extended++
			}
		}
		if extended != 500 {
			c.Errorf("%d of 500 matches were extended", extended)
		}
	})
}

// A node that read a question before its extension does not reveal it at
// the former end.
func TestOutdatedReadDoesNotRevealExtendedQuestion(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		n.openSession(ada)
		plan := n.openDuel(c, 1)
		outdatedView, err := c.store.Read(c.Context(), ReadQuery{Match: plan.ID, Players: plan.duelPlayers(), AfterSeq: -1})
		c.requireNoError(err)
		extension := extendStep(plan, outdatedView, 2000, now())
		extension.ID = "one"
		extended, err := c.store.Step(c.Context(), extension)
		c.requireNoError(err)
		reveal, due := nextStep(plan, outdatedView, outdatedView.DueAt, 0)
		reveal.ID = "other"
		if !extended.Applied || !due || reveal.NewState.Phase != PhaseRevealed {
			c.Fatalf("extended %v, due %v: %+v", extended.Applied, due, reveal)
		}
		revealed, err := c.store.Step(c.Context(), reveal)
		c.requireNoError(err)
		if revealed.Applied {
			c.Error("it was revealed at its former end")
		}
	})
}
