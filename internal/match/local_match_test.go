package match

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// A node keeps the newest state, in whatever order states arrive.
func TestNodeKeepsNewestState(t *testing.T) {
	t.Parallel()
	states := []State{
		{Phase: PhaseCountdown, Question: -1, Version: 1},
		{Phase: PhaseOpen, DueAt: 1, Version: 2}, {Phase: PhaseOpen, DueAt: 2, Extended: true, Version: 3},
		{Phase: PhaseSealed, Version: 5}, {Phase: PhaseRevealed, Version: 6},
		{Phase: PhaseOpen, Question: 1, Version: 7}, {Phase: PhaseOver, Question: 1, Version: 12}, {Phase: PhaseSettled, Question: 1, Version: 12},
	}
	for i, former := range states {
		for j, later := range states {
			local := newLocalMatch(View{Plan: newPlan("m_1", 0, 2), State: former})
			local.state.Seq = 7
			later.Seq = 99
			if !local.deliver(delivery{state: &later}) {
				t.Fatal("no frame was missing")
			}
			want := states[max(i, j)]
			if former.Version == later.Version {
				want.Phase = later.Phase
			}
			if got := local.knownState(); got.Phase != want.Phase || got.DueAt != want.DueAt || got.Version != want.Version || got.Seq != 7 {
				t.Errorf("known %+v, received %+v, kept %+v", former, later, got)
			}
		}
	}
}

// A duel allocates nothing that only other modes need, because most matches are
// duels.
func TestDuelAllocatesNothingForArenas(t *testing.T) {
	t.Parallel()
	duel := newLocalMatch(View{Plan: newPlan("m_1", 0, 2)})
	if duel.members.byPlayer != nil {
		t.Errorf("%v", duel.members.byPlayer)
	}
	arena := newLocalMatch(View{Plan: newArena(Buzzer, 2)})
	arena.members.store(Member{Seat: Seat{Player: ada}, Role: SpectatorRole})
	if arena.hasSeat(ada) || !duel.hasSeat(ada) {
		t.Errorf("%+v", arena.members.byPlayer)
	}
}

// A delivery does nothing if an earlier push is missing, and skips frames that were delivered.
func TestDeliveriesFollowEachOther(t *testing.T) {
	t.Parallel()
	session := new(frameRecorder)
	local := newLocalMatch(View{Plan: newPlan("m_1", 0, 2), State: State{Phase: PhaseOpen, Seq: 1, Version: 2}})
	local.sessions[ada] = session
	early := delivery{frames: numberedFrames{3, [][]byte{[]byte("3")}}, state: &State{Phase: PhaseRevealed, Version: 5}}
	if local.deliver(early) || local.knownState().Phase != PhaseOpen || len(session.frames()) > 0 {
		t.Errorf("delivered %s before push 2", session.frames())
	}
	for _, next := range []delivery{{frames: numberedFrames{2, [][]byte{[]byte("2")}}}, early, early} {
		if !local.deliver(next) {
			t.Errorf("%d was not delivered", next.frames.firstSeq)
		}
	}
	if got := bytes.Join(session.frames(), nil); string(got) != "23" || local.knownState().Phase != PhaseRevealed {
		t.Errorf("frames %s, state %+v", got, local.knownState())
	}
}

// Two nodes load a match whose node has died, and sweep it. Only the one that takes the last
// step keeps it. That one also releases it after the players have come to the other.
func TestSweptMatchIsReleasedWhereNobodyPlays(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB, nodeC := c.startNode(), c.startNode(), c.startNode()
		nodeA.openSession(ada)
		plan := nodeA.openDuel(c, 3)
		nodeA.kill()
		for _, n := range []*node{nodeB, nodeC} { // a request loads the match at each
			_, err := n.Status(c.Context(), plan.ID)
			c.requireNoError(err)
		}
		// Both nodes sweep at the same instant, and each may take one of the steps up to the
		// second question. Long before its end, one of them has released the match.
		c.passUntil(plan, PhaseOpen, 1)
		c.sleep(4 * time.Second)
		heldByB, _ := nodeB.countLocalMatches()
		heldByC, _ := nodeC.countLocalMatches()
		if heldByB+heldByC != 1 {
			c.Errorf("nodes that advance the match: %d and %d", heldByB, heldByC)
		}
		player, other := nodeC, nodeB
		if heldByC == 1 {
			player, other = nodeB, nodeC
		}
		session := player.openSession(ada)
		c.requireNoError(player.AttachSession(c.Context(), "demo", plan.ID, ada))
		c.passUntil(plan, PhaseOver, 2)
		c.sleep(1100 * time.Millisecond)
		c.checkWholeLog(plan, session)
		c.checkStepsAppliedOnce()
		if held, _ := player.countLocalMatches(); held != 1 {
			c.Errorf("the node of the player holds %d matches", held)
		}
		time.Sleep(time.Hour)
		if held, _ := other.countLocalMatches(); held != 0 {
			c.Errorf("the other node holds %d matches", held)
		}
	})
}

// The node releases a match while a session is being attached to it. The session gets the
// pushes of the copy that is loaded then.
func TestSessionIsNotAttachedToReleasedCopy(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := n.startDuel(c, 2)
		first := n.findLocalMatch(plan.ID)
		var release sync.Once
		n.store.setFault(func(method, _ string) fault {
			if method == "Read" {
				release.Do(func() {
					if n.dropUnused(first) || !n.dropUnused(first) {
						c.Error("it was not released by the second check")
					}
				})
			}
			return noFault
		})
		session := n.openSession(ada)
		n.sync(plan, ada, session, 0)
		if n.findLocalMatch(plan.ID) == first || len(n.findLocalMatch(plan.ID).sessions) != 1 {
			c.Error("the session is not attached to the new copy")
		}
		c.passUntil(plan, PhaseOver, 1)
		c.checkWholeLog(plan, session)
		c.checkStepsAppliedOnce()
	})
}
