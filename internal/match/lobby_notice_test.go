package match

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// Many players join a lobby over three nodes. Each session gets at most two
// notices per second, and always one about the last change, even if messages
// between nodes are lost.
func TestLobbyNoticesAreLimitedAndReportLastChange(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		route func(string) (int, time.Duration)
		fault func(string, string) fault
	}{
		"all messages arrive": {nil, nil},
		"no message arrives":  {func(string) (int, time.Duration) { return 0, 0 }, nil},
		"slow store": {nil, func(string, string) fault {
			time.Sleep(rand.N(400 * time.Millisecond))
			return noFault
		}},
		"reads fail": {nil, func(method, _ string) fault {
			if method == "Read" && rand.N(2) == 0 {
				return failsBefore
			}
			return noFault
		}},
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			c.bus.setRoute(testCase.route)
			nodes := []*node{c.startNode(), c.startNode(), c.startNode()}
			plan := newArena(Buzzer, 1, "red", "blue")
			c.requireNoError(nodes[0].CreateArena(c.Context(), plan))
			watchers := c.attachWatchers(plan, nodes)
			for _, n := range nodes {
				n.store.setFault(testCase.fault)
			}
			for i := range 200 {
				time.Sleep(rand.N(40 * time.Millisecond))
				c.store.addSeat(plan.ID, plan.arenaSeat(i))
				if name != "no message arrives" || i%10 > 0 { // a node may die before it notifies the others
					nodes[i%3].NotifyPlacesChanged(plan.ID)
				}
			}
			time.Sleep(3 * time.Second)
			c.store.removePlace(plan.ID, plan.arenaSeat(7).Player)
			nodes[0].NotifyPlacesChanged(plan.ID)
			time.Sleep(time.Second)
			for _, n := range nodes {
				n.store.setFault(nil)
			}
			time.Sleep(2 * time.Second)
			for _, recorder := range watchers {
				c.checkLobbyNotices(recorder, 199)
			}
		})
	}
}

// attachWatchers attaches a session in the lobby at each node.
func (c *cluster) attachWatchers(plan *Plan, nodes []*node) []*frameRecorder {
	c.Helper()
	recorders := make([]*frameRecorder, len(nodes))
	for i, n := range nodes {
		player := fmt.Sprint("p_watches_", i)
		c.store.addWatcher(plan.ID, player, SpectatorRole)
		recorders[i] = n.openSession(player)
		c.requireNoError(n.AttachFrom(c.Context(), plan.ID, player, 0))
	}
	return recorders
}

func (c *cluster) checkLobbyNotices(recorder *frameRecorder, players int64) {
	c.Helper()
	lastNotice := recorder.lastOfType(c, protocol.TypeArenaLobby)
	if lastNotice.Data.Players != players || len(lastNotice.Data.Teams) != 2 {
		c.Errorf("last lobby notice: %+v", lastNotice.Data)
	}
	if len(recorder.pushedAt) < 2 {
		c.Errorf("%d lobby notices in all", len(recorder.pushedAt))
	}
	for i := 2; i < len(recorder.pushedAt); i++ {
		if spanMS := recorder.pushedAt[i] - recorder.pushedAt[i-2]; spanMS < 1000 {
			c.Errorf("three notices within %d ms", spanMS)
		}
	}
}

// A lobby without changes causes no notices and no reads.
func TestUnchangedLobbySendsNoNotice(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Buzzer, 1)
		sessions := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
		time.Sleep(3 * time.Second)
		before := len(sessions[0].frames())
		nodeA.store.recordReads()
		time.Sleep(time.Minute)
		if newNotices := len(sessions[0].frames()) - before; newNotices > 0 || len(nodeA.store.recordReads()) > 0 {
			c.Errorf("%d more notices, or reads", newNotices)
		}
	})
}

// An arena is closed in its lobby. Every session gets one arena.closed,
// although messages are lost and the node dies. The code becomes free.
func TestClosedLobbyNotifiesEverySession(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		route    func(string) (int, time.Duration)
		nodeDies bool
	}{
		"all messages arrive": {nil, false},
		"all arrive twice":    {func(string) (int, time.Duration) { return 2, 0 }, false},
		"no message arrives":  {func(string) (int, time.Duration) { return 0, 0 }, false},
		"its node dies":       {nil, true},
	} {
		runNamedInCluster(t, name, func(c *cluster) {
			c.bus.setRoute(testCase.route)
			nodeA, nodeB := c.startNode(), c.startNode()
			plan := newArena(Buzzer, 1)
			sessions := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
			time.Sleep(time.Second)
			if testCase.nodeDies {
				nodeA.store.setFault(func(method, _ string) fault {
					return map[bool]fault{true: losesReply}[method == "Step"]
				})
				if err := nodeA.CloseArena(c.Context(), plan.ID); err == nil {
					c.Error("a close without a reply returned no error")
				}
				nodeA.kill()
				sessions = []*frameRecorder{sessions[1], sessions[3]}
			} else {
				c.requireNoError(nodeA.CloseArena(c.Context(), plan.ID))
				c.requireNoError(nodeA.CloseArena(c.Context(), plan.ID))
			}
			time.Sleep(2100 * time.Millisecond)
			for _, session := range sessions {
				frames := session.frames()
				if session.countType(c, protocol.TypeArenaClosed) != 1 || !bytes.Equal(frames[len(frames)-1], lobbyClosedFrame(plan, ReasonClosed)) {
					c.Errorf("%s", frames)
				}
			}
			if !testCase.nodeDies && len(nodeA.endedArenas) != 1 {
				c.Errorf("OnArenaEnd was called %d times", len(nodeA.endedArenas))
			}
			if _, hasResult := c.store.result(plan.ID); hasResult {
				c.Error("the closed lobby has a result")
			}
		})
	}
}

// A match that is closed in its countdown is over like any other and does not
// count.
func TestMatchClosedInCountdownDoesNotCount(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Survival, 1)
		sessions := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
		c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
		c.requireNoError(nodeB.CloseArena(c.Context(), plan.ID))
		synctest.Wait()
		for _, session := range sessions {
			c.checkWholeLog(plan, session)
			if over := session.lastOfType(c, protocol.TypeMatchOver); over.Seq != 2 || over.Data.Reason != "closed" || session.countType(c, protocol.TypeArenaClosed) != 0 {
				c.Errorf("%+v", over)
			}
		}
		if _, hasResult := c.store.result(plan.ID); hasResult || len(nodeB.endedArenas) != 1 {
			c.Errorf("has a result: %v, OnArenaEnd was called %d times", hasResult, len(nodeB.endedArenas))
		}
	})
}

// A kicked player gets one frame at any node, and then nothing more.
func TestKickedPlayerGetsOneFrameAndNoMore(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Survival, 2)
		sessions := c.startArena(plan, 4, nodeA, nodeB)
		for i, frame := range [][]byte{nil, []byte(`{"type":"arena.kicked"}`)} {
			player := plan.arenaSeat(i).Player
			c.store.removePlace(plan.ID, player)
			nodeA.Expel(c.Context(), plan.ID, player, frame)
			[]*node{nodeA, nodeB}[i].answerRefused(plan, player, 0, rightAnswer(&plan.Questions[0]), "not_in_match")
		}
		before := len(sessions[0].frames())
		if n := sessions[1].countType(c, protocol.TypeArenaKicked); n != 1 || sessions[0].countType(c, protocol.TypeArenaKicked) != 0 {
			c.Errorf("arena.kicked was pushed %d times", n)
		}
		c.passUntil(plan, PhaseOver, 1)
		if len(sessions[0].frames()) != before || len(sessions[1].seqs(c)) != 2 || nodeA.IsInMatch("demo", plan.arenaSeat(0).Player) {
			c.Error("a kicked player still gets pushes or counts as playing")
		}
		c.checkWholeLog(plan, sessions[2])
	})
}

// The message that a person was kicked is lost. The node detects the missing
// place, of players and spectators, in the lobby and during the match. A person
// who rejoins at once stays.
func TestLostExpelMessageIsRecovered(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{PhaseLobby, PhaseOpen} {
		runNamedInCluster(t, string(phase), func(c *cluster) {
			nodeA, nodeB := c.startNode(), c.startNode()
			plan := newArena(Survival, 2)
			sessions := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
			watcher := c.attachWatchers(plan, []*node{nodeB})[0]
			if phase == PhaseOpen {
				c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
				c.passUntil(plan, PhaseOpen, 0)
			}
			c.bus.setRoute(func(string) (int, time.Duration) { return 0, 0 })
			for _, player := range []string{plan.arenaSeat(1).Player, "p_watches_0"} {
				c.store.removePlace(plan.ID, player)
				nodeA.Expel(c.Context(), plan.ID, player, []byte(`{"type":"arena.kicked"}`))
			}
			c.store.addWatcher(plan.ID, "p_back", SpectatorRole)
			returningSession := nodeB.openSession("p_back")
			c.requireNoError(nodeB.AttachFrom(c.Context(), plan.ID, "p_back", 0))
			c.store.removePlace(plan.ID, "p_back")
			time.Sleep(1100 * time.Millisecond)
			c.store.addWatcher(plan.ID, "p_back", SpectatorRole)
			time.Sleep(2100 * time.Millisecond)
			before := len(sessions[1].framesWithSeq(c))
			for player, wantKicks := range map[*frameRecorder]int{sessions[1]: 1, watcher: 1, returningSession: 0, sessions[3]: 0} {
				if n := player.countType(c, protocol.TypeArenaKicked); n != wantKicks {
					c.Errorf("arena.kicked was pushed %d times, want %d", n, wantKicks)
				}
			}
			if phase == PhaseLobby {
				c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
			}
			c.passUntil(plan, PhaseOver, 1)
			time.Sleep(2 * time.Second)
			if newPushes := len(sessions[1].framesWithSeq(c)) - before; newPushes > 0 {
				c.Errorf("%d more pushes for a kicked player", newPushes)
			}
			c.checkWholeLog(plan, sessions[3])
		})
	}
}

func TestBroadcastFromAnyNodeReachesEverySession(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB, nodeWithoutPlayers := c.startNode(), c.startNode(), c.startNode()
		plan := newArena(Survival, 2)
		sessions := c.createArenaWithPlayers(plan, 2, nodeA, nodeB)
		for _, n := range []*node{nodeA, nodeWithoutPlayers} {
			n.Broadcast(c.Context(), plan.ID, []byte(`{"type":"arena.closed"}`))
		}
		for _, session := range sessions {
			if n := session.countType(c, protocol.TypeArenaClosed); n != 2 {
				c.Errorf("the broadcast was received %d times", n)
			}
		}
	})
}
