package match

import (
	"slices"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// checkDuelEvents checks which changes of a duel a session was notified of. Each must come
// before the push of the change.
func (c *cluster) checkDuelEvents(session *frameRecorder, want ...bool) {
	c.Helper()
	var running []bool
	for _, change := range session.duels {
		running = append(running, change.running)
		before := session.decodedFrames(c)[:change.frames]
		if slices.ContainsFunc(before, func(f frame) bool {
			return f.Type == protocol.TypeMatchOver || change.running && f.Type == protocol.TypeMatchFound
		}) {
			c.Errorf("the session was notified of %+v after the push of the change", change)
		}
	}
	if !slices.Equal(running, want) {
		c.Errorf("the session was notified of %v, want %v", running, want)
	}
}

// Each session is notified once when its duel begins and ends, also a session that is
// attached later.
func TestSessionsAreNotifiedWhenTheirDuelBeginsAndEnds(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		first, second := nodeA.openSession(ada), nodeB.openSession(bob)
		plan := nodeA.startDuel(c, 1)
		c.checkDuelEvents(first, true)
		c.passUntil(plan, PhaseOpen, 0)
		c.requireNoError(nodeB.AttachSession(c.Context(), "demo", plan.ID, bob))
		c.checkDuelEvents(second, true)
		c.passUntil(plan, PhaseOver, 0)
		c.sleep(3 * time.Second)
		c.checkDuelEvents(first, true, false)
		c.checkDuelEvents(second, true, false)
		late := nodeB.attach(plan, ada, c.store.state(plan.ID).Seq)
		c.checkDuelEvents(late)
	})
}

// A duel that ends as abandoned ends for its sessions, too. An arena is no duel.
func TestSessionsAreNotifiedOfAnAbandonedDuelOnly(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		plan := n.startDuel(c, 3)
		arena := newArena(Survival, 2)
		arena.ID = "m_2"
		sessions := c.createArenaWithPlayers(arena, 2, n)
		c.passUntil(plan, PhaseOpen, 0)
		c.store.clear()
		c.sleep(3 * time.Second)
		c.checkAbandoned(session)
		c.checkDuelEvents(session, true, false)
		for _, player := range sessions {
			c.checkDuelEvents(player)
		}
	})
}

// A session is notified of the end of its duel, too, if its node learns of the end from
// a read, because the message of the other node is lost.
func TestSessionsAreNotifiedOfADuelEndThatIsRead(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan, _, session := c.startDuelAt(nodeA, nodeB, 1)
		c.passUntil(plan, PhaseOpen, 0)
		c.bus.setRoute(func(string) (int, time.Duration) { return 0, 0 })
		c.requireNoError(nodeA.Leave(c.Context(), plan.ID, ada))
		c.sleep(3 * time.Second)
		c.checkDuelEvents(session, true, false)
	})
}
