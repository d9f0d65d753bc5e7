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
		answers bool
		outages int
		want    int
	}{
		"one outage, no answer":   {false, 1, 1},
		"one outage, one answer":  {true, 1, 0},
		"two outages, no answer":  {false, 2, 1},
		"no outage":               {false, 0, 0},
		"two outages, one answer": {true, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(w *cluster) {
				nodeA, nodeB := w.startNode(), w.startNode()
				session, other := nodeA.openSession(ada), nodeB.openSession(bob)
				plan := nodeA.startDuel(w, 1)
				w.requireNoError(nodeB.AttachSession(w.Context(), "demo", plan.ID, bob))
				w.passUntil(plan, PhaseOpen, 0)
				if testCase.answers {
					if _, err := nodeA.answer(plan, ada, 0, wrongAnswer(&plan.Questions[0])); err != nil {
						w.Fatal(err)
					}
				}
				closes := w.store.state(plan.ID).ClosesAt
				for range testCase.outages {
					w.cutStore(2500*time.Millisecond, nodeA, nodeB)
					time.Sleep(1100 * time.Millisecond)
				}
				given := w.store.state(plan.ID).ClosesAt - closes
				if n := session.countType(w, protocol.TypeQuestionExtended); n != testCase.want || (given > 0) != (n > 0) {
					w.Errorf("extended by %d ms, pushed %d times", given, n)
				}
				if testCase.want > 0 && (given < 2500 || given > 4500) {
					w.Errorf("extended by %d ms after an outage of 2500 ms", given)
				}
				w.checkExtendedJudgement(plan, nodeB, given)
				w.passUntil(plan, PhaseOver, 0)
				synctest.Wait()
				w.checkComplete(plan, session, 0)
				w.checkComplete(plan, other, 0)
			})
		})
	}
}

// cutStore disconnects nodes from the store for a while.
func (c *cluster) cutStore(delay time.Duration, nodes ...*node) {
	for _, n := range nodes {
		n.store.setFault(func(string, string) fault { return failsBefore })
	}
	time.Sleep(delay)
	for _, n := range nodes {
		n.store.setFault(nil)
	}
}

// checkExtendedJudgement answers during the extension. The answer is in time,
// and its time counts as the limit.
func (c *cluster) checkExtendedJudgement(plan *Plan, n *node, given int64) {
	c.Helper()
	if given == 0 {
		return
	}
	state := c.store.state(plan.ID)
	time.Sleep(time.Duration(state.ClosesAt-now()) * time.Millisecond)
	reply, err := n.answer(plan, bob, 0, rightAnswer(&plan.Questions[0]))
	if err != nil || reply.ElapsedMS != plan.LimitMS+given {
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
		plan := nodeA.startDuel(c, 1)
		c.passUntil(plan, PhaseOpen, 0)
		nodeA.kill()
		closes := c.store.state(plan.ID).ClosesAt
		for now() < closes+5000 && !c.store.state(plan.ID).Extended {
			time.Sleep(10 * time.Millisecond)
		}
		state := c.store.state(plan.ID)
		if late := now() - closes; late > 3000 || state.ClosesAt < now()+1000 || state.ClosesAt > now()+3000 {
			c.Errorf("%d ms late, closes in %d", late, state.ClosesAt-now())
		}
		session := nodeB.openSession(ada)
		c.requireNoError(nodeB.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: ada, Session: session}))
		c.passUntil(plan, PhaseOver, 0)
		c.checkComplete(plan, session, 0)
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
		given := 0
		for _, local := range n.runningMatches() {
			if c.store.state(local.plan.ID).Extended {
				given++
			}
		}
		if given != 500 {
			c.Errorf("%d of 500 matches were extended", given)
		}
	})
}

// A node that read a question before its extension does not seal it at the
// former end.
func TestOutdatedReadDoesNotSealExtendedQuestion(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		a := c.startNode()
		a.openSession(ada)
		plan := a.startDuel(c, 1)
		c.passUntil(plan, PhaseOpen, 0)
		before, err := c.store.Read(c.Context(), ReadQuery{Match: plan.ID, Players: plan.duelPlayers(), AfterSeq: -1})
		c.requireNoError(err)
		extension := extendStep(plan, before, 2000, now())
		extension.ID = "one"
		given, err := c.store.Step(c.Context(), extension)
		c.requireNoError(err)
		late, due := nextStep(plan, before, before.DueAt, 0)
		late.ID = "other"
		if !given.Applied || !due || late.NewState.Phase != PhaseSealed {
			c.Fatalf("extended %v, due %v: %+v", given.Applied, due, late)
		}
		sealed, err := c.store.Step(c.Context(), late)
		c.requireNoError(err)
		if sealed.Applied {
			c.Error("it was sealed at its former end")
		}
	})
}
