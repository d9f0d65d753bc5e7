package match

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lifecycleRecorder records the lifecycle events of a node.
type lifecycleRecorder struct {
	mu     sync.Mutex
	events []LifecycleEvent
}

func (n *node) recordLifecycle() *lifecycleRecorder {
	recorder := new(lifecycleRecorder)
	n.OnLifecycle = func(event LifecycleEvent) {
		recorder.mu.Lock()
		defer recorder.mu.Unlock()
		slices.Sort(event.Players)
		recorder.events = append(recorder.events, event)
	}
	return recorder
}

// check compares the events after everything due was reported. It checks times
// separately.
func (recorder *lifecycleRecorder) check(t *testing.T, want ...LifecycleEvent) {
	t.Helper()
	time.Sleep(5 * time.Second)
	synctest.Wait()
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	got := slices.Clone(recorder.events)
	for i := range got {
		got[i].OccurredAt = 0
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
}

func startEvent(plan *Plan, players ...string) LifecycleEvent {
	return LifecycleEvent{Game: "demo", Match: plan.ID, Mode: plan.Mode, Players: players}
}

func endEvent(plan *Plan, reason Reason, players ...string) LifecycleEvent {
	event := startEvent(plan, players...)
	event.Ended, event.Reason = true, reason
	return event
}

// Each node reports its own players, at the opening of the first question and
// at the end.
func TestNodesReportStartAndEndOfDuelForTheirPlayers(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB, nodeWithoutPlayers := c.startNode(), c.startNode(), c.startNode()
		recorderA, recorderB, emptyRecorder := nodeA.recordLifecycle(), nodeB.recordLifecycle(), nodeWithoutPlayers.recordLifecycle()
		plan, _, _ := c.startDuelAt(nodeA, nodeB, 2)
		c.requireNoError(nodeWithoutPlayers.CheckSeat(c.Context(), plan.ID, ada))
		c.sleep(2 * time.Second)
		if len(recorderA.events) > 0 {
			t.Errorf("in the countdown: %+v", recorderA.events)
		}
		c.passUntil(plan, PhaseOver, 1)
		recorderA.check(t, startEvent(plan, ada), endEvent(plan, ReasonFinished, ada))
		recorderB.check(t, startEvent(plan, bob), endEvent(plan, ReasonFinished, bob))
		emptyRecorder.check(t)
		state := c.store.state(plan.ID)
		for _, recorder := range []*lifecycleRecorder{recorderA, recorderB} {
			startedAt, endedAt := recorder.events[0].OccurredAt, recorder.events[1].OccurredAt
			if startedAt != state.StartedAt || endedAt < state.ClosesAt || endedAt > now()-5000 {
				t.Errorf("reported from %d to %d, started at %d", startedAt, endedAt, state.StartedAt)
			}
		}
	})
}

// A forfeit after the start ends the duel for both players. A duel that is
// forfeited in its countdown never started.
func TestForfeitIsReportedOnlyAfterStart(t *testing.T) {
	for name, testCase := range map[string]struct {
		started bool
	}{"in the countdown": {}, "while it is played": {true}} {
		runNamedInCluster(t, name, func(c *cluster) {
			n := c.startNode()
			recorder := n.recordLifecycle()
			n.openSession(ada)
			n.openSession(bob)
			plan := n.startDuel(c, 2)
			if testCase.started {
				c.passUntil(plan, PhaseOpen, 0)
			}
			c.requireNoError(n.Leave(c.Context(), plan.ID, ada))
			if !testCase.started {
				recorder.check(t)
				return
			}
			recorder.check(t, startEvent(plan, ada, bob), endEvent(plan, ReasonForfeit, ada, bob))
		})
	}
}

// A player without a session is reported by no node. A player who moves is
// reported by the new node. A node that loads a running match does not report
// its start.
func TestNewNodeReportsPlayerWhoMoved(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		recorderA, recorderB := nodeA.recordLifecycle(), nodeB.recordLifecycle()
		oldSession := nodeA.openSession(ada)
		bobSession := nodeA.openSession(bob)
		plan := nodeA.startDuel(c, 2)
		nodeA.Presence.Leave("demo", bob, bobSession)
		nodeA.Detach("demo", bob, bobSession)
		c.passUntil(plan, PhaseOpen, 0)
		synctest.Wait()
		time.Sleep(time.Second)
		nodeA.Presence.Leave("demo", ada, oldSession)
		nodeA.Detach("demo", ada, oldSession)
		nodeB.attach(plan, ada, 0)
		c.passUntil(plan, PhaseOver, 1)
		recorderA.check(t, startEvent(plan, ada))
		recorderB.check(t, endEvent(plan, ReasonFinished, ada))
	})
}

// A node that loads a match after its end reports nothing.
func TestNodeThatLoadsEndedMatchReportsNothing(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		recorder := nodeB.recordLifecycle()
		nodeA.openSession(ada)
		plan := nodeA.startDuel(c, 1)
		c.passUntil(plan, PhaseOver, 0)
		nodeB.attach(plan, ada, 0)
		recorder.check(t)
	})
}

// All nodes report the players of an arena, and no spectators. An arena that is
// closed before it begins causes no events.
func TestNodesReportArenaPlayersButNoSpectators(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		recorderA, recorderB := nodeA.recordLifecycle(), nodeB.recordLifecycle()
		plan := newArena(Survival, 1)
		c.createArenaWithPlayers(plan, 3, nodeA, nodeB)
		c.store.addWatcher(plan.ID, "p_eve", SpectatorRole)
		nodeA.openSession("p_eve")
		c.requireNoError(nodeA.AttachFrom(c.Context(), plan.ID, "p_eve", 0))
		c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
		c.passUntil(plan, PhaseOpen, 0)
		c.requireNoError(nodeA.CloseArena(c.Context(), plan.ID))
		recorderA.check(t, startEvent(plan, plan.arenaSeat(0).Player, plan.arenaSeat(2).Player), endEvent(plan, ReasonClosed, plan.arenaSeat(0).Player, plan.arenaSeat(2).Player))
		recorderB.check(t, startEvent(plan, plan.arenaSeat(1).Player), endEvent(plan, ReasonClosed, plan.arenaSeat(1).Player))
	})
}

func TestArenaClosedInLobbyReportsNothing(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		recorder := n.recordLifecycle()
		plan := newArena(Survival, 1)
		c.createArenaWithPlayers(plan, 2, n)
		c.requireNoError(n.CloseArena(c.Context(), plan.ID))
		recorder.check(t)
	})
}

// OnLifecycle may take long. The match continues.
func TestSlowOnLifecycleDoesNotDelayMatch(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		release := make(chan struct{})
		n.OnLifecycle = func(LifecycleEvent) { <-release }
		n.openSession(ada)
		plan := n.startDuel(c, 1)
		c.passUntil(plan, PhaseOver, 0)
		if late := now() - c.store.state(plan.ID).ClosesAt; late > 6000 {
			t.Errorf("the match was over %d ms after its last close", late)
		}
		close(release)
	})
}

// A match that the store has lost ends as abandoned.
func TestLostMatchIsReportedAsAbandoned(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		recorder := n.recordLifecycle()
		n.openSession(ada)
		plan := n.startDuel(c, 3)
		c.passUntil(plan, PhaseOpen, 1)
		c.store.clear()
		recorder.check(t, startEvent(plan, ada), endEvent(plan, ReasonAbandoned, ada))
	})
}
