package match

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// stallStoreCalls blocks every store call of a node until the returned function is
// called. Then the delayed calls continue.
func (n *node) stallStoreCalls() (resume func()) {
	resumed := make(chan struct{})
	n.store.setFault(func(string, string) fault {
		<-resumed
		return noFault
	})
	return sync.OnceFunc(func() {
		n.store.setFault(nil)
		close(resumed)
	})
}

// A node stalls during a match and continues later. Other nodes have continued
// the match. The late steps lose, and its sessions see everything.
func TestLateStepsOfStalledNodeHaveNoEffect(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Buzzer, Survival} {
		for _, phase := range []Phase{PhaseCountdown, PhaseOpen, PhaseRevealed} {
			runNamedInCluster(t, string(mode)+" "+string(phase), func(c *cluster) {
				nodeA, nodeB := c.startNode(), c.startNode()
				plan := newArena(mode, 3)
				sessions := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
				c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
				c.passUntil(plan, phase, map[Phase]int{PhaseCountdown: -1}[phase])
				time.Sleep(200 * time.Millisecond)
				resume := nodeA.stallStoreCalls()
				due := c.store.state(plan.ID).DueAt
				time.Sleep(time.Duration(due-now()) * time.Millisecond)
				before := c.store.state(plan.ID)
				time.Sleep(3 * time.Second)
				if state := c.store.state(plan.ID); state.Version == before.Version {
					c.Errorf("3 s after its deadline the match is still at %+v", state)
				}
				time.Sleep(9 * time.Second)
				resume()
				c.passUntil(plan, PhaseOver, c.lastQuestionAfterEnd(plan))
				c.sleep(1100 * time.Millisecond)
				c.checkStepsAppliedOnce()
				c.checkWholeLog(plan, sessions...)
				if results := len(nodeA.results()) + len(nodeB.results()); results != 1 {
					c.Errorf("%d results", results)
				}
			})
		}
	}
}

// lastQuestionAfterEnd waits for the end of a match and returns its last question.
func (c *cluster) lastQuestionAfterEnd(plan *Plan) int {
	c.Helper()
	for range 60_000 {
		if state := c.store.state(plan.ID); state.Phase == PhaseOver {
			return state.Question
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.Fatalf("%s never ends: %+v", plan.ID, c.store.state(plan.ID))
	return 0
}

// A node dies after a step and before its pushes. Sessions at other nodes get
// them within a second.
func TestPushesArriveAfterNodeDiesBetweenStepAndPush(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{PhaseCountdown, PhaseOpen, PhaseRevealed} {
		runNamedInCluster(t, string(phase), func(c *cluster) {
			nodeA, nodeB := c.startNode(), c.startNode()
			plan := newArena(Buzzer, 2)
			sessions := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
			c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
			c.passUntil(plan, phase, map[Phase]int{PhaseCountdown: -1}[phase])
			resume := nodeB.stallStoreCalls() // so that node a applies the step
			nodeA.store.setFault(faultOf(losesReply, "Step"))
			before := c.store.state(plan.ID)
			for s := before; s.Phase == before.Phase; s = c.store.state(plan.ID) {
				time.Sleep(5 * time.Millisecond)
			}
			nodeA.kill()
			resume()
			c.sleep(1100 * time.Millisecond)
			c.checkWholeLog(plan, sessions[1])
			c.passUntil(plan, PhaseOver, 1)
			synctest.Wait()
			c.checkWholeLog(plan, sessions[1], sessions[3])
			c.checkStepsAppliedOnce()
		})
	}
}

// All nodes get the same request at the same time. It is applied once.
func TestConcurrentEqualRequestsAreAppliedOnce(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodes := []*node{c.startNode(), c.startNode(), c.startNode()}
		plan := newArena(Buzzer, 2)
		plan.Arena.HostPaced = true
		sessions := c.createArenaWithPlayers(plan, 3, nodes...)
		requestAtAllNodes := func(request func(n *node) error) {
			var running sync.WaitGroup
			for _, n := range append(nodes, nodes...) {
				running.Go(func() { c.requireNoError(request(n)) })
			}
			running.Wait()
			synctest.Wait()
		}
		requestAtAllNodes(func(n *node) error { return n.StartArena(c.Context(), plan.ID) })
		if state := c.store.state(plan.ID); state.Phase != PhaseCountdown {
			c.Fatalf("%+v", state)
		}
		time.Sleep(4 * time.Second)
		for question := range plan.Questions {
			requestAtAllNodes(func(n *node) error { return n.Proceed(c.Context(), plan.ID, question-1) })
			if state := c.store.state(plan.ID); state.Phase != PhaseOpen || state.Question != question {
				c.Fatalf("%+v", state)
			}
			c.requireNoError(nodes[question].Proceed(c.Context(), plan.ID, question))
		}
		requestAtAllNodes(func(n *node) error { return n.CloseArena(c.Context(), plan.ID) })
		if state := c.store.state(plan.ID); state.Phase != PhaseOver {
			c.Fatalf("%+v", state)
		}
		c.checkWholeLog(plan, sessions...)
		c.checkStepsAppliedOnce()
	})
}

// The clock of a node is a second ahead or behind. The match continues for
// everyone, and nothing is applied twice or skipped.
func TestMatchToleratesClockDifference(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"ahead": time.Second, "behind": -time.Second} {
		runNamedInCluster(t, name, func(c *cluster) {
			skewedNode, otherNode := c.startNodeAhead(ahead), c.startNode()
			plan := newArena(Survival, 4)
			sessions := c.createArenaWithPlayers(plan, 6, skewedNode, otherNode)
			c.requireNoError(otherNode.StartArena(c.Context(), plan.ID))
			for question := range plan.Questions {
				c.passUntil(plan, PhaseOpen, question)
				for i := range sessions {
					n := []*node{skewedNode, otherNode}[i%2]
					_, afterReply, err := n.Answer(c.Context(), Submission{
						Player: plan.arenaSeat(i).Player, ArrivedAt: n.Now(), Answer: answerTo(plan, question, rightAnswer(&plan.Questions[question])),
					})
					if afterReply(); err != nil {
						c.Fatalf("question %d of player %d: %v", question, i, err)
					}
				}
			}
			c.passUntil(plan, PhaseOver, 3)
			c.sleep(2100 * time.Millisecond)
			c.checkStepsAppliedOnce()
			c.checkWholeLog(plan, sessions...)
			for _, received := range sessions[0].decodedFrames(c) {
				if received.Type == protocol.TypeQuestionClosed && (received.Data.Reason != closeReasonAllAnswered || received.Data.Right != 6) {
					c.Errorf("%+v", received.Data)
				}
			}
		})
	}
}

// losingStore is a store in which other nodes apply every step first.
type losingStore struct{ *faultyStore }

func (losingStore) Step(context.Context, Step) (StepResult, error) { return StepResult{}, nil }

// A call that loses every step ends with an error.
func TestCallThatLosesEveryStepFails(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := newArena(Buzzer, 1)
		c.createArenaWithPlayers(plan, 1, n)
		reads := n.store.countCalls("Read")
		n.Matches = losingStore{n.store}
		var refused *protocol.Error
		if err := n.StartArena(c.Context(), plan.ID); !errors.As(err, &refused) || refused.Code != protocol.CodeUnavailable || *reads != maxStepAttempts {
			c.Errorf("%v after %d reads", err, *reads)
		}
		n.Matches = n.store
		c.requireNoError(n.StartArena(c.Context(), plan.ID))
		if knownVersion, storedVersion := n.findLocalMatch(plan.ID).knownState().Version, c.store.state(plan.ID).Version; knownVersion != storedVersion {
			c.Errorf("the node knows version %d, the match is at %d", knownVersion, storedVersion)
		}
	})
}
