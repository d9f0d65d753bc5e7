package match

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/protocol"
)

// checkAbandoned checks that sessions received exactly one end of their match,
// as abandoned, with the number after the last push they have seen.
func (c *cluster) checkAbandoned(sessions ...*frameRecorder) {
	c.Helper()
	for _, session := range sessions {
		c.checkAbandonedOnce(session)
	}
}

func (c *cluster) checkAbandonedOnce(session *frameRecorder) {
	c.Helper()
	frames := session.framesWithSeq(c)
	for i, raw := range frames {
		if received := decodeFrame(c, raw); received.Seq != int64(i+1) {
			c.Fatalf("frame %d has another number: %s", i+1, raw)
		}
	}
	last := session.lastOfType(c, protocol.TypeMatchOver)
	if last.Data.Reason != "abandoned" || len(last.Data.Standings) > 0 || session.countType(c, protocol.TypeMatchOver) != 1 ||
		last.Seq != int64(len(frames)) {
		c.Errorf("last match.over: %+v, received %d times", last, session.countType(c, protocol.TypeMatchOver))
	}
}

// countAbandoned is the number of matches that nodes count as abandoned.
func countAbandoned(nodes ...*node) (total float64) {
	for _, countedNode := range nodes {
		for _, mode := range []Mode{Duel, Buzzer, Survival} {
			total += testutil.ToFloat64(countedNode.metrics.ends.WithLabelValues(string(mode), string(ReasonAbandoned)))
		}
	}
	return total
}

// A replica that was behind is promoted. The next operation detects it, and the
// match ends once, in the same way for all players.
func TestMatchWithForgottenStepsIsAbandonedOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Buzzer, Survival} {
		for _, restoredPhase := range []Phase{PhaseCountdown, PhaseOpen, PhaseRevealed} {
			runNamedInCluster(t, string(mode)+" "+string(restoredPhase), func(c *cluster) {
				nodeA, nodeB := c.startNode(), c.startNode()
				plan := newArena(mode, 4)
				sessions := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
				c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
				c.passUntil(plan, restoredPhase, map[Phase]int{PhaseCountdown: -1}[restoredPhase])
				outdatedCopy := c.store.copyMatch(plan.ID)
				c.passUntil(plan, PhaseOpen, 1)
				c.bus.setRoute(func(string) (int, time.Duration) { return 0, 0 })
				nodeA.answerWrong(plan, plan.arenaSeat(0).Player, 1)
				c.store.restoreMatch(plan.ID, outdatedCopy)
				c.sleep(3 * time.Second)
				c.checkAbandoned(sessions...)
				if abandoned := countAbandoned(nodeA, nodeB); abandoned != 1 {
					c.Errorf("counted as abandoned %v times", abandoned)
				}
				if _, hasResult := c.store.result(plan.ID); hasResult || len(nodeA.results())+len(nodeB.results()) > 0 {
					c.Error("the abandoned match has a result")
				}
				if len(nodeA.endedArenas)+len(nodeB.endedArenas) != 1 {
					c.Errorf("OnArenaEnd was called %d and %d times", len(nodeA.endedArenas), len(nodeB.endedArenas))
				}
				c.checkSyncAbandoned(plan, nodeA, nodeB)
			})
		}
	}
}

// checkSyncAbandoned checks that a player who asks for an abandoned match gets
// its end, at any node.
func (c *cluster) checkSyncAbandoned(plan *Plan, nodes ...*node) {
	c.Helper()
	for _, n := range nodes {
		session := n.openSession(plan.arenaSeat(0).Player)
		got := n.sync(plan, plan.arenaSeat(0).Player, session, 2)
		if over := session.lastOfType(c, protocol.TypeMatchOver); over.Data.Reason != "abandoned" || got.Phase != "over" || over.Seq != max(got.Seq, 2)+1 {
			c.Errorf("%+v after %+v", over, got)
		}
		if n.IsInMatch("demo", plan.arenaSeat(0).Player) {
			c.Error("the player still counts as playing")
		}
	}
}

// A player who reconnects may be the first to reach a match that lost data. The
// new session gets the end like the existing ones.
func TestAttachDetectsDataLoss(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		bobSession := n.openSession(bob)
		plan := n.startDuel(c, 2)
		outdatedCopy := c.store.copyMatch(plan.ID)
		c.passUntil(plan, PhaseOpen, 0)
		c.store.restoreMatch(plan.ID, outdatedCopy)
		adaSession := n.openSession(ada)
		n.sync(plan, ada, adaSession, 0)
		c.checkAbandoned(bobSession)
		c.checkAbandoned(adaSession)
		if _, err := n.answer(plan, ada, 0, rightAnswer(&plan.Questions[0])); errorCode(err) != "question_not_open" && errorCode(err) != "question_closed" {
			c.Errorf("%v", err)
		}
		time.Sleep(10 * time.Minute)
		c.checkAbandoned(bobSession)
		if matches, _ := n.countLocalMatches(); matches != 0 {
			c.Error("the node still holds the match")
		}
	})
}

// An answer also detects that the store has lost steps of the match.
func TestAnswerDetectsDataLoss(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		session := n.openSession(bob)
		plan := n.openDuel(c, 2)
		outdatedCopy := c.store.copyMatch(plan.ID)
		n.answerRight(plan, bob, 0)
		c.store.restoreMatch(plan.ID, outdatedCopy)
		if _, err := n.answer(plan, ada, 0, rightAnswer(&plan.Questions[0])); !errors.Is(err, ErrAbandoned) {
			c.Errorf("%v", err)
		}
		c.checkAbandoned(session)
	})
}

// The store is empty after a failover. A running match is abandoned and stays
// abandoned.
func TestMatchMissingInStoreIsAbandoned(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Survival, 4)
		sessions := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
		c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
		c.passUntil(plan, PhaseOpen, 1)
		c.store.clear()
		c.sleep(1100 * time.Millisecond)
		c.checkAbandoned(sessions...)
		if countAbandoned(nodeA, nodeB) == 0 || len(nodeA.results())+len(nodeB.results()) > 0 {
			c.Error("the abandoned match is not counted, or it has a result")
		}
		for _, n := range []*node{nodeA, nodeB} {
			if matches, players := n.countLocalMatches(); matches+players > 0 {
				c.Errorf("%d matches and %d players stay", matches, players)
			}
			n.answerRefused(plan, plan.arenaSeat(0).Player, 1, rightAnswer(&plan.Questions[1]), "not_in_match")
		}
	})
}

// An abandoned match is counted before a player gets its end, whether the store has lost
// the match or a part of it.
func TestAbandonedMatchIsCountedBeforeItsEndIsPushed(t *testing.T) {
	for name, lose := range map[string]func(*memoryStore, string, *storedMatch){
		"all":  func(s *memoryStore, _ string, _ *storedMatch) { s.clear() },
		"part": (*memoryStore).restoreMatch,
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			n := c.startNode()
			session, counted := n.openSession(ada), 0.0
			session.setOnPush(func(...[]byte) { counted = countAbandoned(n) }) // at the last push
			plan := n.startDuel(c, 2)
			outdatedCopy := c.store.copyMatch(plan.ID)
			c.passUntil(plan, PhaseOpen, 0)
			lose(c.store, plan.ID, outdatedCopy)
			c.sleep(3 * time.Second)
			c.checkAbandoned(session)
			if counted != 1 {
				c.Errorf("%v matches were counted when the end was pushed", counted)
			}
		})
	}
}

// Players in a lost lobby have seen no match, so they get arena.closed instead
// of match.over.
func TestLostLobbyClosesArena(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		sessions := c.createArenaWithPlayers(newArena(Buzzer, 1), 2, n)
		time.Sleep(2 * time.Second)
		c.store.clear()
		time.Sleep(2 * time.Second)
		for _, session := range sessions {
			frames := session.frames()
			if !bytes.Equal(frames[len(frames)-1], lobbyClosedFrame(newArena(Buzzer, 1), ReasonAbandoned)) || len(session.seqs(c)) > 0 {
				c.Errorf("%s", frames)
			}
		}
	})
}

// Other nodes ended a match that had lost data. Their result is kept. A node
// that had seen later steps also ends the match for its players.
func TestResultAfterDataLossIsKept(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newPlan("m_1", now()+3000, 2)
		c.requireNoError(nodeA.StartDuel(c.Context(), plan))
		adaSession := nodeA.openSession(ada)
		c.requireNoError(nodeA.AttachSession(c.Context(), "demo", plan.ID, ada))
		c.passUntil(plan, PhaseRevealed, 0)
		outdatedCopy := c.store.copyMatch(plan.ID)
		c.passUntil(plan, PhaseRevealed, 1)
		nodeA.store.setFault(func(string, string) fault { return failsBefore })
		c.store.restoreMatch(plan.ID, outdatedCopy)
		c.requireNoError(nodeB.Leave(c.Context(), plan.ID, bob))
		nodeA.store.setFault(nil)
		bobSession := nodeA.openSession(bob)
		nodeA.sync(plan, bob, bobSession, 0)
		if over := bobSession.lastOfType(c, protocol.TypeMatchOver); over.Data.Reason != "forfeit" {
			c.Errorf("%+v", over)
		}
		time.Sleep(3 * time.Second)
		c.checkAbandoned(adaSession)
		if result, ok := c.store.result(plan.ID); !ok || result.Reason != ReasonForfeit || countAbandoned(nodeA, nodeB) != 0 {
			c.Errorf("%v, %+v", ok, result)
		}
		if nodeA.IsInMatch("demo", ada) {
			c.Error("the player still counts as playing")
		}
	})
}

// Late pushes of an abandoned match are not delivered after its end.
func TestAbandonedMatchDeliversNoLatePush(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 0, 2)
	session := new(frameRecorder)
	local := newLocalMatch(View{Plan: plan, State: State{Phase: PhaseOpen, Seq: 2, Version: 5}})
	local.sessions[ada] = session
	lost := State{Phase: PhaseOver, EndReason: ReasonAbandoned, Version: 3}
	if !local.deliver(delivery{state: &lost}) || len(session.frames()) != 1 {
		t.Fatalf("%s", session.frames())
	}
	late := State{Phase: PhaseRevealed, Version: 9}
	late4 := local.deliver(delivery{frames: numberedFrames{firstSeq: 4, encoded: [][]byte{[]byte("late")}}, state: &late})
	late9 := local.deliver(delivery{frames: numberedFrames{firstSeq: 9, encoded: [][]byte{nil}}})
	if !late4 || !late9 {
		t.Error("the ended match asks for missing frames")
	}
	local.catchUp(View{State: State{Phase: PhaseRevealed, Version: 9, Seq: 4}, Frames: [][]byte{[]byte("late")}})
	if state := local.knownState(); len(session.frames()) != 1 || state.Phase != PhaseOver || local.knownSeen().Version != 0 {
		t.Errorf("%s, %+v", session.frames(), state)
	}
}

// Other nodes continued a match that had lost data, until its push number
// equals the number seen here. Players who have not seen the end get one.
func TestUnseenEndIsPushed(t *testing.T) {
	t.Parallel()
	session := new(frameRecorder)
	local := newLocalMatch(View{Plan: newPlan("m_1", 0, 2), State: State{Phase: PhaseRevealed, Seq: 4, Version: 5}})
	local.sessions[ada] = session
	local.catchUp(View{State: State{Phase: PhaseOver, EndReason: ReasonForfeit, Seq: 4, Version: 5}})
	local.catchUp(View{State: State{Phase: PhaseSettled, EndReason: ReasonForfeit, Seq: 4, Version: 5}})
	if frames := session.decodedFrames(t); len(frames) != 1 || frames[0].Seq != 5 || frames[0].Data.Reason != "abandoned" {
		t.Errorf("%+v", frames)
	}
}

// The store lost the newest step, and another node took a different step instead. The
// version is the same again, so only the phase shows the loss.
func TestADifferentPhaseAtTheSameVersionEndsTheMatch(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 3000, 2)
	known := State{Phase: PhaseRevealed, Question: 1, Version: 7, Seq: 5}
	local := newLocalMatch(View{Plan: plan, State: known})
	local.adoptState(known)
	if local.state.Phase != PhaseRevealed {
		t.Fatalf("the same state ended the match: %+v", local.state)
	}
	local.adoptState(State{Phase: PhaseOver, EndReason: ReasonForfeit, Question: 1, Version: 7, Seq: 5})
	if local.state.Phase != PhaseOver || local.state.EndReason != ReasonAbandoned {
		t.Errorf("%+v, want the match abandoned", local.state)
	}
}
