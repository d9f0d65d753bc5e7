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

// timedRecorder is a session that records when each frame arrived.
type timedRecorder struct {
	frameRecorder
	at []int64
}

func (t *timedRecorder) Push(match string, frames ...[]byte) {
	t.frameRecorder.Push(match, frames...)
	t.mu.Lock()
	defer t.mu.Unlock()
	for range frames {
		t.at = append(t.at, now())
	}
}

// Many players join a lobby over three nodes. Each session gets at most two
// notices per second, and always one about the last change, even if messages
// between nodes are lost.
func TestLobbyNotices(t *testing.T) {
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
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(w *cluster) {
				w.bus.setRoute(testCase.route)
				nodes := []*node{w.startNode(), w.startNode(), w.startNode()}
				plan := newArena(Buzzer, 1, "red", "blue")
				w.requireNoError(nodes[0].CreateArena(w.Context(), plan))
				watchers := w.attachWatchers(plan, nodes)
				for _, n := range nodes {
					n.store.setFault(testCase.fault)
				}
				for i := range 200 {
					time.Sleep(rand.N(40 * time.Millisecond))
					w.store.addSeat(plan.ID, plan.arenaSeat(i))
					if name != "no message arrives" || i%10 > 0 { // a node may die before it notifies the others
						nodes[i%3].NotifyPlacesChanged(plan.ID)
					}
				}
				time.Sleep(3 * time.Second)
				w.store.removePlace(plan.ID, plan.arenaSeat(7).Player)
				nodes[0].NotifyPlacesChanged(plan.ID)
				time.Sleep(time.Second)
				for _, n := range nodes {
					n.store.setFault(nil)
				}
				time.Sleep(2 * time.Second)
				for _, in := range watchers {
					w.checkLobby(in, 199)
				}
			})
		})
	}
}

// attachWatchers attaches a session in the lobby at each node.
func (c *cluster) attachWatchers(plan *Plan, nodes []*node) []*timedRecorder {
	c.Helper()
	in := make([]*timedRecorder, len(nodes))
	for i, n := range nodes {
		player := fmt.Sprint("p_watches_", i)
		in[i] = new(timedRecorder)
		c.store.addWatcher(plan.ID, player, SpectatorRole)
		n.Presence.Enter("demo", player, in[i])
		c.requireNoError(n.AttachFrom(c.Context(), plan.ID, player, 0))
	}
	return in
}

func (c *cluster) checkLobby(in *timedRecorder, players int64) {
	c.Helper()
	last := in.lastOfType(c, protocol.TypeArenaLobby)
	if last.Data.Players != players || len(last.Data.Teams) != 2 {
		c.Errorf("last lobby notice: %+v", last.Data)
	}
	if len(in.at) < 2 {
		c.Errorf("%d lobby notices in all", len(in.at))
	}
	for i := 2; i < len(in.at); i++ {
		if within := in.at[i] - in.at[i-2]; within < 1000 {
			c.Errorf("three notices within %d ms", within)
		}
	}
}

// A lobby without changes causes no notices and no messages between nodes.
func TestUnchangedLobbySendsNoNotice(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Buzzer, 1)
		in := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
		time.Sleep(3 * time.Second)
		before, sent := len(in[0].frames()), c.bus.countSent(kindLobby)
		time.Sleep(time.Minute)
		if more := len(in[0].frames()) - before; more > 0 || c.bus.countSent(kindLobby) != sent {
			c.Errorf("%d more notices; %d messages between nodes, before %d", more, c.bus.countSent(kindLobby), sent)
		}
	})
}

func (bus *fakeBus) countSent(kind string) int {
	bus.mu.Lock()
	defer bus.mu.Unlock()
	return bus.sent[kind]
}

// An arena is closed in its lobby. Every session gets one arena.closed,
// although messages are lost and the node dies. The code becomes free.
func TestClosedLobbyNotifiesEverySession(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		route func(string) (int, time.Duration)
		dies  bool
	}{
		"all messages arrive": {nil, false},
		"all arrive twice":    {func(string) (int, time.Duration) { return 2, 0 }, false},
		"no message arrives":  {func(string) (int, time.Duration) { return 0, 0 }, false},
		"its node dies":       {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(w *cluster) {
				w.bus.setRoute(testCase.route)
				nodeA, nodeB := w.startNode(), w.startNode()
				plan := newArena(Buzzer, 1)
				in := w.createArenaWithPlayers(plan, 4, nodeA, nodeB)
				time.Sleep(time.Second)
				if testCase.dies {
					nodeA.store.setFault(func(method, _ string) fault {
						return map[bool]fault{true: losesReply}[method == "Step"]
					})
					if err := nodeA.CloseArena(w.Context(), plan.ID); err == nil {
						w.Error("a close without a reply returned no error")
					}
					nodeA.kill()
					in = []*frameRecorder{in[1], in[3]}
				} else {
					w.requireNoError(nodeA.CloseArena(w.Context(), plan.ID))
					w.requireNoError(nodeA.CloseArena(w.Context(), plan.ID))
				}
				time.Sleep(2100 * time.Millisecond)
				for _, one := range in {
					frames := one.frames()
					if one.countType(w, protocol.TypeArenaClosed) != 1 || !bytes.Equal(frames[len(frames)-1], lobbyClosedFrame(plan, ReasonClosed)) {
						w.Errorf("%s", frames)
					}
				}
				if !testCase.dies && len(nodeA.endedArenas) != 1 {
					w.Errorf("OnArenaEnd was called %d times", len(nodeA.endedArenas))
				}
				if _, settles := w.store.result(plan.ID); settles {
					w.Error("the closed lobby has a result")
				}
			})
		})
	}
}

// A match that is closed in its countdown is over like any other and does not
// count.
func TestMatchClosedInCountdownDoesNotCount(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Survival, 1)
		in := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
		c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
		c.requireNoError(nodeB.CloseArena(c.Context(), plan.ID))
		synctest.Wait()
		for _, one := range in {
			c.checkComplete(plan, one, 0)
			if over := one.lastOfType(c, protocol.TypeMatchOver); over.Seq != 2 || over.Data.Reason != "closed" || one.countType(c, protocol.TypeArenaClosed) != 0 {
				c.Errorf("%+v", over)
			}
		}
		if _, settles := c.store.result(plan.ID); settles || len(nodeB.endedArenas) != 1 {
			c.Errorf("has a result: %v, OnArenaEnd was called %d times", settles, len(nodeB.endedArenas))
		}
	})
}

// A kicked player gets one frame at any node, and then nothing more.
func TestExpel(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Survival, 2)
		in := c.createArenaWithPlayers(plan, 4, nodeA, nodeB)
		c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
		c.passUntil(plan, PhaseOpen, 0)
		for i, frame := range [][]byte{nil, []byte(`{"type":"arena.kicked"}`)} {
			player := plan.arenaSeat(i).Player
			c.store.removePlace(plan.ID, player)
			nodeA.Expel(c.Context(), plan.ID, player, frame)
			if _, err := []*node{nodeA, nodeB}[i].answer(plan, player, 0, rightAnswer(&plan.Questions[0])); errorCode(err) != "not_in_match" {
				c.Errorf("%v", err)
			}
		}
		before := len(in[0].frames())
		if n := in[1].countType(c, protocol.TypeArenaKicked); n != 1 || in[0].countType(c, protocol.TypeArenaKicked) != 0 {
			c.Errorf("arena.kicked was pushed %d times", n)
		}
		c.passUntil(plan, PhaseOver, 1)
		if len(in[0].frames()) != before || len(in[1].seqs(c)) != 2 || nodeA.IsInMatch("demo", plan.arenaSeat(0).Player) {
			c.Error("a kicked player still gets pushes or counts as playing")
		}
		c.checkComplete(plan, in[2], 0)
	})
}

// The message that a person was kicked is lost. The node detects the missing
// place, of players and spectators, in the lobby and during the match. A person
// who rejoins at once stays.
func TestLostExpelMessageIsRecovered(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{PhaseLobby, PhaseOpen} {
		t.Run(string(phase), func(t *testing.T) {
			runInCluster(t, func(w *cluster) {
				nodeA, nodeB := w.startNode(), w.startNode()
				plan := newArena(Survival, 2)
				in := w.createArenaWithPlayers(plan, 4, nodeA, nodeB)
				watcher := w.attachWatchers(plan, []*node{nodeB})[0]
				if phase == PhaseOpen {
					w.requireNoError(nodeA.StartArena(w.Context(), plan.ID))
					w.passUntil(plan, PhaseOpen, 0)
				}
				w.bus.setRoute(func(string) (int, time.Duration) { return 0, 0 })
				for _, session := range []string{plan.arenaSeat(1).Player, "p_watches_0"} {
					w.store.removePlace(plan.ID, session)
					nodeA.Expel(w.Context(), plan.ID, session, []byte(`{"type":"arena.kicked"}`))
				}
				w.store.addWatcher(plan.ID, "p_back", SpectatorRole)
				back := nodeB.openSession("p_back")
				w.requireNoError(nodeB.AttachFrom(w.Context(), plan.ID, "p_back", 0))
				w.store.removePlace(plan.ID, "p_back")
				time.Sleep(1100 * time.Millisecond)
				w.store.addWatcher(plan.ID, "p_back", SpectatorRole)
				time.Sleep(2100 * time.Millisecond)
				before := len(in[1].numbered(w))
				for session, c := range map[*frameRecorder]int{in[1]: 1, &watcher.frameRecorder: 1, back: 0, in[3]: 0} {
					if n := session.countType(w, protocol.TypeArenaKicked); n != c {
						w.Errorf("arena.kicked was pushed %d times, want %d", n, c)
					}
				}
				if phase == PhaseLobby {
					w.requireNoError(nodeA.StartArena(w.Context(), plan.ID))
				}
				w.passUntil(plan, PhaseOver, 1)
				time.Sleep(2 * time.Second)
				if more := len(in[1].numbered(w)) - before; more > 0 {
					w.Errorf("%d more pushes for a kicked player", more)
				}
				w.checkComplete(plan, in[3], 0)
			})
		})
	}
}

func TestBroadcast(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		a, b, stranger := c.startNode(), c.startNode(), c.startNode()
		plan := newArena(Survival, 2)
		in := c.createArenaWithPlayers(plan, 2, a, b)
		for _, n := range []*node{a, stranger} {
			n.Broadcast(c.Context(), plan.ID, []byte(`{"type":"arena.closed"}`))
		}
		for _, one := range in {
			if n := one.countType(c, protocol.TypeArenaClosed); n != 2 {
				c.Errorf("the broadcast was received %d times", n)
			}
		}
	})
}
