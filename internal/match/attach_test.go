package match

import (
	"errors"
	"testing"
	"testing/synctest"

	"laststand/internal/protocol"
)

func TestAttachRefusesUnknownMatchAndPlayerWithoutSeat(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := n.startDuel(c, 1)
		for _, request := range []AttachRequest{{Match: "m_none", Player: ada}, {Match: plan.ID, Player: "p_eve"}} {
			request.Session = new(frameRecorder)
			if err := n.Attach(c.Context(), request); !errors.Is(err, ErrNotFound) {
				c.Errorf("%s in %s: %v", request.Player, request.Match, err)
			}
		}
		n.openSession(bob)
		if err := n.AttachSession(c.Context(), "demo", "m_none", bob); !errors.Is(err, ErrNotFound) {
			c.Errorf("attached to an unknown match: %v", err)
		}
		if err := n.AttachSession(c.Context(), "demo", "m_none", "p_away"); err != nil {
			c.Errorf("a player without a session here: %v", err)
		}
	})
}

// The node that creates a duel attaches the sessions of its players without a read, and
// gets the pushes of other nodes from the first one on.
func TestNewDuelIsAttachedWithoutARead(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		sessionA, reads := nodeA.openSession(ada), 0
		nodeB.openSession(bob)
		nodeA.store.setFault(func(method, _ string) fault {
			if method == "Read" {
				reads++
			}
			return noFault
		})
		nodeB.store.setFault(func(method, _ string) fault { // a node that another precedes in a step has to read
			if method == "Step" {
				return failsBefore
			}
			return noFault
		})
		plan := newPlan("m_1", now()+1000, 2)
		c.requireNoError(nodeA.StartDuel(c.Context(), plan))
		c.requireNoError(nodeA.AttachSession(c.Context(), plan.Game, plan.ID, ada)) // attached already
		if frames := sessionA.frames(); len(frames) != 1 || reads != 0 {
			c.Errorf("%d frames after %d reads", len(frames), reads)
		}
		c.requireNoError(nodeB.AttachSession(c.Context(), plan.Game, plan.ID, bob))
		c.passUntil(plan, PhaseOpen, 0)
		nodeB.store.setFault(nil)
		nodeB.answerRight(plan, bob, 0)
		synctest.Wait()
		if sessionA.lastOfType(c, "answer.seen").Data.Player != bob || reads != 0 {
			c.Errorf("no push of the other node, %d reads", reads)
		}
		nodeA.store.setFault(nil)
		c.checkWholeLog(plan, sessionA)
	})
}

// A session that asks for the state gets it first, then the pushes after its
// number, then the live pushes.
func TestAttachSendsStateThenPushes(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		plan := n.openDuel(c, 2)
		n.answerRight(plan, ada, 0)
		for _, after := range []int64{0, 2, 3, 99} {
			c.checkSync(n, plan, after)
		}
		c.passUntil(plan, PhaseOver, 1)
		for _, after := range []int64{0, 3, 7} {
			c.checkSync(n, plan, after)
		}
		if frames := session.frames(); len(frames) != 3 { // the frames before newer sessions replaced it
			c.Errorf("the replaced session has %d frames", len(frames))
		}
	})
}

// checkSync attaches a new session that asks for the state. The session must get
// the state first and then exactly the pushes after a number.
func (c *cluster) checkSync(n *node, plan *Plan, after int64) {
	c.Helper()
	session := n.openSession(ada)
	var got *protocol.MatchState
	err := n.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: ada, Session: session, AfterSeq: after, OnState: func(state protocol.MatchState) {
		if len(session.frames()) > 0 || session.discards != 1 {
			c.Errorf("after %d: %d frames before the state, unsent pushes discarded %d times", after, len(session.frames()), session.discards)
		}
		got = &state
	}})
	if err != nil || got == nil {
		c.Fatalf("after %d: %v, %+v", after, err, got)
	}
	state := c.store.state(plan.ID)
	if got.Seq != state.Seq || got.Phase != string(state.Phase) || got.Found.Players != 2 {
		c.Errorf("after %d: %+v, the match is at %+v", after, got, state)
	}
	c.checkReceivedLog(plan, session, min(after, state.Seq))
}

// A node misses a push. The next one comes while a session attaches, whose read returns the
// missing one. The session gets both.
func TestAttachDuringAMissedPush(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		nodeA.openSession(ada)
		plan := nodeA.startDuel(c, 2)
		local, err := nodeB.loadMatch(c.Context(), plan.ID)
		c.requireNoError(err)
		nodeB.store.setFault(func(string, string) fault { return failsBefore })
		c.passUntil(plan, PhaseOpen, 0)
		nodeB.store.setFault(nil)
		session := nodeB.openSession(bob)
		request := AttachRequest{Match: plan.ID, Player: bob, Session: session}
		view, err := nodeB.readForSession(c.Context(), local, request, Member{Role: PlayerRole})
		c.requireNoError(err)
		nodeA.answerRight(plan, ada, 0)
		synctest.Wait()
		if view.Seq != 2 {
			c.Fatalf("the view has push %d", view.Seq)
		}
		if !nodeB.addIfPresent(local, request, view) {
			c.requireNoError(nodeB.Attach(c.Context(), request))
		}
		c.checkWholeLog(plan, session)
	})
}

// A client may have seen more than its new node. The client gets no frame
// twice, and the other sessions of the node catch up.
func TestAttachAtNodeThatIsBehindRepeatsNoFrame(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan, _, sessionB := c.startDuelAt(nodeA, nodeB, 1)
		nodeB.store.setFault(failsStepsAndSearches)
		c.bus.removeNode(nodeB.Node)
		nodeB.Wheel.Close()
		c.passUntil(plan, PhaseOpen, 0)
		for _, player := range []string{ada, bob} {
			nodeA.answerRight(plan, player, 0)
		}
		session := nodeB.attach(plan, ada, 3)
		c.checkReceivedLog(plan, session, 3)
		c.checkWholeLog(plan, sessionB)
	})
}

// A session that is already attached gets no frame twice, unless it asks for
// the state.
func TestSecondAttachRepeatsNoFrame(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		plan := n.startDuel(c, 1)
		c.requireNoError(n.AttachSession(c.Context(), "demo", plan.ID, ada))
		c.requireNoError(n.StartDuel(c.Context(), plan))
		c.checkWholeLog(plan, session)
		c.passUntil(plan, PhaseOver, 0)
		c.checkWholeLog(plan, session)
	})
}

// A disconnect does not remove the seat. The end of an old session does not affect the
// session that replaced it.
func TestDetachKeepsSeatAndNewerSession(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		first := n.openSession(ada)
		plan := n.startDuel(c, 1)
		second := n.attach(plan, ada, 1)
		n.Detach("demo", ada, first)
		n.Detach("demo", "p_eve", first)
		c.passUntil(plan, PhaseOpen, 0)
		c.checkReceivedLog(plan, second, 1)
		n.Detach("demo", ada, second)
		c.passUntil(plan, PhaseOver, 0)
		if got := len(second.frames()); got != 1 {
			c.Errorf("%d frames after it was detached", got)
		}
	})
}

// A request for an old match does not remove a player from the current one.
func TestAttachToOldMatchKeepsCurrentMatch(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(ada)
		old := n.startDuel(c, 1)
		c.passUntil(old, PhaseOver, 0)
		plan := newPlan("m_2", now()+3000, 1)
		c.requireNoError(n.StartDuel(c.Context(), plan))
		request := AttachRequest{Match: old.ID, Player: ada, Session: session, OnState: func(protocol.MatchState) {}}
		c.requireNoError(n.Attach(c.Context(), request))
		if !n.IsInMatch("demo", ada) {
			c.Error("the player no longer counts as playing")
		}
		before := len(session.frames())
		n.Detach("demo", ada, session)
		c.passUntil(plan, PhaseOver, 0)
		if newFrames := len(session.frames()) - before; newFrames != 0 {
			c.Errorf("%d frames after it was detached", newFrames)
		}
	})
}

func TestStatusReportsWhetherMatchIsRunning(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := n.startDuel(c, 1)
		checkRunning := func(moment string, want bool) {
			c.Helper()
			status, err := n.Status(c.Context(), plan.ID)
			if err != nil || status != (Status{Seq: c.store.state(plan.ID).Seq, Running: want}) {
				c.Errorf("%s: %+v, %v", moment, status, err)
			}
		}
		checkRunning("at the start", true)
		if unsettled, err := n.IsUnsettled(c.Context(), plan.ID); unsettled || err != nil {
			c.Errorf("unsettled at the start: %v, %v", unsettled, err)
		}
		n.store.setFault(func(string, string) fault { return failsBefore })
		if _, err := n.Status(c.Context(), plan.ID); !errors.Is(err, errDown) {
			c.Errorf("store unreachable: %v", err)
		}
		n.store.setFault(nil)
		c.passUntil(plan, PhaseOver, 0)
		n.store.recordReads()
		checkRunning("at the end", false)
		if reads := n.store.recordReads(); len(reads) > 0 {
			c.Errorf("the node read a match that it knows to be over: %+v", reads)
		}
		if status, err := n.Status(c.Context(), "m_none"); status != (Status{}) || err != nil {
			c.Errorf("no such match: %+v, %v", status, err)
		}
	})
}

func TestPresenceKeepsNewestSession(t *testing.T) {
	t.Parallel()
	var presence Presence
	first, second := new(frameRecorder), new(frameRecorder)
	if former := presence.Enter("demo", ada, first); former != nil {
		t.Errorf("replaced %v", former)
	}
	if _, ok := presence.Find("other", ada); ok {
		t.Error("found in another game")
	}
	if former := presence.Enter("demo", ada, second); former != first {
		t.Errorf("replaced %v", former)
	}
	if presence.Leave("demo", ada, first) {
		t.Error("the end of the replaced session removed the newer one")
	}
	if session, ok := presence.Find("demo", ada); !ok || session != second {
		t.Errorf("%v, %v", session, ok)
	}
	if !presence.Leave("demo", ada, second) {
		t.Error("the newest session could not leave")
	}
	if _, ok := presence.Find("demo", ada); ok {
		t.Error("found after it left")
	}
}
