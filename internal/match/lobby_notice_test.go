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
// notices per second, and always one about the last change, whatever messages
// are lost.
func TestLobbyNotices(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		route func(string) (int, time.Duration)
		fault func(string, string) fault
	}{
		"all comes":     {nil, nil},
		"nothing comes": {func(string) (int, time.Duration) { return 0, 0 }, nil},
		"slow": {nil, func(string, string) fault {
			time.Sleep(rand.N(400 * time.Millisecond))
			return works
		}},
		"reads fail": {nil, func(method, _ string) fault {
			if method == "Read" && rand.N(2) == 0 {
				return fails
			}
			return works
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				w.bus.set(c.route)
				nodes := []*node{w.node(), w.node(), w.node()}
				p := newArena(Buzzer, 1, "red", "blue")
				w.must(nodes[0].CreateArena(w.Context(), p))
				watchers := w.watchers(p, nodes)
				for _, n := range nodes {
					n.link.set(c.fault)
				}
				for i := range 200 {
					time.Sleep(rand.N(40 * time.Millisecond))
					w.store.addSeat(p.ID, p.seatOf(i))
					if name != "nothing comes" || i%10 > 0 { // a node may die before it notifies the others
						nodes[i%3].NotifyPlacesChanged(p.ID)
					}
				}
				time.Sleep(3 * time.Second)
				w.store.removePlace(p.ID, p.seatOf(7).Player)
				nodes[0].NotifyPlacesChanged(p.ID)
				time.Sleep(time.Second)
				for _, n := range nodes {
					n.link.set(nil)
				}
				time.Sleep(2 * time.Second)
				for _, in := range watchers {
					w.checkLobby(in, 199)
				}
			})
		})
	}
}

// watchers attaches a session in the lobby at each node.
func (w *cluster) watchers(p *Plan, nodes []*node) []*timedRecorder {
	w.Helper()
	in := make([]*timedRecorder, len(nodes))
	for i, n := range nodes {
		player := fmt.Sprint("p_watches_", i)
		in[i] = new(timedRecorder)
		w.store.addWatcher(p.ID, player, AsSpectator)
		n.Presence.Enter("demo", player, in[i])
		w.must(n.AttachFrom(w.Context(), p.ID, player, 0))
	}
	return in
}

func (w *cluster) checkLobby(in *timedRecorder, players int64) {
	w.Helper()
	last := in.last(w, protocol.TypeArenaLobby)
	if last.Data.Players != players || len(last.Data.Teams) != 2 {
		w.Errorf("told of %+v", last.Data)
	}
	if len(in.at) < 2 {
		w.Errorf("told %d times in all", len(in.at))
	}
	for i := 2; i < len(in.at); i++ {
		if within := in.at[i] - in.at[i-2]; within < 1000 {
			w.Errorf("three times in %d ms", within)
		}
	}
}

// A lobby without changes causes no notices and no messages between nodes.
func TestALobbyWithoutChanges(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		p := newArena(Buzzer, 1)
		in := w.gather(p, 4, a, b)
		time.Sleep(3 * time.Second)
		before, sent := len(in[0].frames()), w.bus.count(kindLobby)
		time.Sleep(time.Minute)
		if more := len(in[0].frames()) - before; more > 0 || w.bus.count(kindLobby) != sent {
			w.Errorf("%d more, %d messages after %d", more, w.bus.count(kindLobby), sent)
		}
	})
}

func (m *fakeBus) count(kind string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent[kind]
}

// An arena is closed in its lobby. Every session gets one arena.closed,
// although messages are lost and the node dies. The code becomes free.
func TestALobbyIsClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		route func(string) (int, time.Duration)
		dies  bool
	}{
		"all comes":       {nil, false},
		"all comes twice": {func(string) (int, time.Duration) { return 2, 0 }, false},
		"nothing comes":   {func(string) (int, time.Duration) { return 0, 0 }, false},
		"its node dies":   {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				w.bus.set(c.route)
				a, b := w.node(), w.node()
				p := newArena(Buzzer, 1)
				in := w.gather(p, 4, a, b)
				time.Sleep(time.Second)
				if c.dies {
					a.link.set(func(method, _ string) fault {
						return map[bool]fault{true: loses}[method == "Step"]
					})
					if err := a.CloseArena(w.Context(), p.ID); err == nil {
						w.Error("no error")
					}
					a.kill()
					in = []*frameRecorder{in[1], in[3]}
				} else {
					w.must(a.CloseArena(w.Context(), p.ID))
					w.must(a.CloseArena(w.Context(), p.ID))
				}
				time.Sleep(2100 * time.Millisecond)
				for _, one := range in {
					frames := one.frames()
					if one.count(w, protocol.TypeArenaClosed) != 1 || !bytes.Equal(frames[len(frames)-1], lobbyClosedFrame(p, Closed)) {
						w.Errorf("%s", frames)
					}
				}
				if !c.dies && len(a.ended) != 1 {
					w.Errorf("ended %d times", len(a.ended))
				}
				if _, settles := w.store.result(p.ID); settles {
					w.Error("it settles")
				}
			})
		})
	}
}

// A match that is closed in its countdown is over like any other and does not
// count.
func TestACountdownIsClosed(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		p := newArena(Survival, 1)
		in := w.gather(p, 4, a, b)
		w.must(a.StartArena(w.Context(), p.ID))
		w.must(b.CloseArena(w.Context(), p.ID))
		synctest.Wait()
		for _, one := range in {
			w.checkComplete(p, one, 0)
			if over := one.last(w, protocol.TypeMatchOver); over.Seq != 2 || over.Data.Reason != "closed" || one.count(w, protocol.TypeArenaClosed) != 0 {
				w.Errorf("%+v", over)
			}
		}
		if _, settles := w.store.result(p.ID); settles || len(b.ended) != 1 {
			w.Errorf("settles: %v, ended: %d", settles, len(b.ended))
		}
	})
}

// A kicked player gets one frame at any node, and then nothing more.
func TestExpel(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		p := newArena(Survival, 2)
		in := w.gather(p, 4, a, b)
		w.must(a.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		for i, frame := range [][]byte{nil, []byte(`{"type":"arena.kicked"}`)} {
			player := p.seatOf(i).Player
			w.store.removePlace(p.ID, player)
			a.Expel(w.Context(), p.ID, player, frame)
			if _, err := []*node{a, b}[i].answer(p, player, 0, rightAnswer(&p.Questions[0])); codeOf(err) != "not_in_match" {
				w.Errorf("%v", err)
			}
		}
		before := len(in[0].frames())
		if n := in[1].count(w, protocol.TypeArenaKicked); n != 1 || in[0].count(w, protocol.TypeArenaKicked) != 0 {
			w.Errorf("told %d times", n)
		}
		w.passUntil(p, Over, 1)
		if len(in[0].frames()) != before || len(in[1].seqs(w)) != 2 || a.IsInMatch("demo", p.seatOf(0).Player) {
			w.Error("the feed goes on")
		}
		w.checkComplete(p, in[2], 0)
	})
}

// The message that a person was kicked is lost. The node detects the missing
// place, of players and spectators, in the lobby and during the match. A person
// who rejoins at once stays.
func TestALostExpel(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{Lobby, Open} {
		t.Run(string(phase), func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				a, b := w.node(), w.node()
				p := newArena(Survival, 2)
				in := w.gather(p, 4, a, b)
				watcher := w.watchers(p, []*node{b})[0]
				if phase == Open {
					w.must(a.StartArena(w.Context(), p.ID))
					w.passUntil(p, Open, 0)
				}
				w.bus.set(func(string) (int, time.Duration) { return 0, 0 })
				for _, session := range []string{p.seatOf(1).Player, "p_watches_0"} {
					w.store.removePlace(p.ID, session)
					a.Expel(w.Context(), p.ID, session, []byte(`{"type":"arena.kicked"}`))
				}
				w.store.addWatcher(p.ID, "p_back", AsSpectator)
				back := b.enter("p_back")
				w.must(b.AttachFrom(w.Context(), p.ID, "p_back", 0))
				w.store.removePlace(p.ID, "p_back")
				time.Sleep(1100 * time.Millisecond)
				w.store.addWatcher(p.ID, "p_back", AsSpectator)
				time.Sleep(2100 * time.Millisecond)
				before := len(in[1].numbered(w))
				for session, c := range map[*frameRecorder]int{in[1]: 1, &watcher.frameRecorder: 1, back: 0, in[3]: 0} {
					if n := session.count(w, protocol.TypeArenaKicked); n != c {
						w.Errorf("told %d times, want %d", n, c)
					}
				}
				if phase == Lobby {
					w.must(a.StartArena(w.Context(), p.ID))
				}
				w.passUntil(p, Over, 1)
				time.Sleep(2 * time.Second)
				if more := len(in[1].numbered(w)) - before; more > 0 {
					w.Errorf("%d more for who was kicked", more)
				}
				w.checkComplete(p, in[3], 0)
			})
		})
	}
}

func TestBroadcast(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b, stranger := w.node(), w.node(), w.node()
		p := newArena(Survival, 2)
		in := w.gather(p, 2, a, b)
		for _, n := range []*node{a, stranger} {
			n.Broadcast(w.Context(), p.ID, []byte(`{"type":"arena.closed"}`))
		}
		for _, one := range in {
			if n := one.count(w, protocol.TypeArenaClosed); n != 2 {
				w.Errorf("told %d times", n)
			}
		}
	})
}
