package match

import (
	"testing"
	"time"
)

// createHostedArena creates an arena with pace host whose host is at a node.
func (c *cluster) createHostedArena(plan *Plan, n *node, players int) (*frameRecorder, []*frameRecorder) {
	c.Helper()
	plan.Arena.HostPaced = true
	sessions := c.createArenaWithPlayers(plan, players, n)
	return c.attachHost(plan, n), sessions
}

// attachHost attaches the host of an arena at a node.
func (c *cluster) attachHost(plan *Plan, n *node) *frameRecorder {
	c.Helper()
	c.store.addWatcher(plan.ID, host, HostRole)
	session := n.openSession(host)
	c.requireNoError(n.AttachFrom(c.Context(), plan.ID, host, 0))
	return session
}

// While the host is present at any node, no question opens by itself.
func TestPresentHostOpensEveryQuestion(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Buzzer, 2)
		hostSession, playerSessions := c.createHostedArena(plan, nodeB, 2)
		c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
		if err := nodeB.Proceed(c.Context(), plan.ID, -1); errorCode(err) != "question_not_open" {
			c.Errorf("in the countdown: %v", err)
		}
		for _, step := range []struct {
			state State
			after int
		}{{State{Phase: PhaseCountdown, Question: -1}, -1}, {State{Phase: PhaseRevealed}, 0}} {
			c.passUntil(plan, step.state.Phase, step.state.Question)
			time.Sleep(10 * time.Minute)
			if state := c.store.state(plan.ID); state.Phase != step.state.Phase || !state.HostPaced {
				c.Fatalf("the match continued by itself: %+v", state)
			}
			c.requireNoError(nodeB.Proceed(c.Context(), plan.ID, step.after))
			if state := c.store.state(plan.ID); state.Phase != PhaseOpen || state.Question != step.after+1 || state.OpensAt != now() {
				c.Fatalf("%+v", state)
			}
			c.requireNoError(nodeB.Proceed(c.Context(), plan.ID, step.after)) // a repeated request does nothing
		}
		time.Sleep(time.Second)
		c.requireNoError(nodeB.Proceed(c.Context(), plan.ID, 1))
		if state := c.store.state(plan.ID); state.Phase != PhaseRevealed || state.CloseReason != "host" {
			c.Fatalf("%+v", state)
		}
		c.passUntil(plan, PhaseOver, 1)
		if delayMS := now() - c.store.state(plan.ID).ClosesAt; delayMS > 0 {
			c.Errorf("over %d ms after the last close", delayMS)
		}
		c.checkWholeLog(plan, hostSession, playerSessions[1])
	})
}

// A host who is away for a minute loses the pace. A host who returns earlier,
// even at another node, keeps it.
func TestAbsentHostLosesPace(t *testing.T) {
	t.Parallel()
	for name, hostReturns := range map[string]bool{"the host stays away": false, "the host returns after 50 s": true} {
		runNamedInCluster(t, name, func(c *cluster) {
			nodeA, nodeB := c.startNode(), c.startNode()
			plan := newArena(Buzzer, 3)
			hostSession, _ := c.createHostedArena(plan, nodeA, 2)
			c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
			time.Sleep(5 * time.Second)
			c.requireNoError(nodeA.Proceed(c.Context(), plan.ID, -1))
			c.requireNoError(nodeA.Proceed(c.Context(), plan.ID, 0))
			nodeA.Presence.Leave("demo", host, hostSession)
			nodeA.Detach("demo", host, hostSession)
			time.Sleep(50 * time.Second)
			if state := c.store.state(plan.ID); state.Phase != PhaseRevealed {
				c.Fatalf("%+v", state)
			}
			if hostReturns {
				c.attachHost(plan, nodeB)
			}
			c.sleep(20 * time.Second)
			state := c.store.state(plan.ID)
			if opened := state.Question == 1; opened == hostReturns || state.HostPaced != hostReturns {
				c.Fatalf("%+v", state)
			}
			if hostReturns {
				c.requireNoError(nodeB.CloseArena(c.Context(), plan.ID))
				return
			}
			c.passUntil(plan, PhaseOver, 2) // from now on everything opens by itself
			if delayMS := now() - c.store.state(plan.ID).ClosesAt; delayMS > 2800 {
				c.Errorf("%d ms after the last close", delayMS)
			}
		})
	}
}
