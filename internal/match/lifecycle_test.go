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
	n.OnLifecycle = func(t LifecycleEvent) {
		recorder.mu.Lock()
		defer recorder.mu.Unlock()
		slices.Sort(t.Players)
		recorder.events = append(recorder.events, t)
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
		got[i].At = 0
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("heard %+v, want %+v", got, want)
	}
}

func startEvent(p *Plan, players ...string) LifecycleEvent {
	return LifecycleEvent{Game: "demo", Match: p.ID, Mode: p.Mode, Players: players}
}

func endEvent(p *Plan, reason Reason, players ...string) LifecycleEvent {
	t := startEvent(p, players...)
	t.Ended, t.Reason = true, reason
	return t
}

// Each node reports its own players, at the opening of the first question and
// at the end.
func TestLifecycleOfADuel(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b, empty := w.node(), w.node(), w.node()
		recorderA, recorderB, nothing := a.recordLifecycle(), b.recordLifecycle(), empty.recordLifecycle()
		a.enter(ada)
		b.enter(bob)
		p := a.begin(w, 2)
		w.must(b.AttachSession(w.Context(), "demo", p.ID, bob))
		w.must(empty.CheckSeat(w.Context(), p.ID, ada))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(recorderA.events) > 0 {
			t.Errorf("in the countdown: %+v", recorderA.events)
		}
		w.passUntil(p, Over, 1)
		recorderA.check(t, startEvent(p, ada), endEvent(p, Finished, ada))
		recorderB.check(t, startEvent(p, bob), endEvent(p, Finished, bob))
		nothing.check(t)
		s := w.store.state(p.ID)
		for _, recorder := range []*lifecycleRecorder{recorderA, recorderB} {
			from, to := recorder.events[0].At, recorder.events[1].At
			if from != s.StartedAt || to < s.ClosesAt || to > now()-5000 {
				t.Errorf("from %d to %d, began at %d", from, to, s.StartedAt)
			}
		}
	})
}

// A forfeit after the start ends the duel for both players. A duel that is
// forfeited in its countdown never began.
func TestLifecycleOfAForfeit(t *testing.T) {
	for name, c := range map[string]struct {
		begun bool
	}{"in the countdown": {}, "while it is played": {true}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				n := w.node()
				recorder := n.recordLifecycle()
				n.enter(ada)
				n.enter(bob)
				p := n.begin(w, 2)
				if c.begun {
					w.passUntil(p, Open, 0)
				}
				w.must(n.Leave(w.Context(), p.ID, ada))
				if !c.begun {
					recorder.check(t)
					return
				}
				recorder.check(t, startEvent(p, ada, bob), endEvent(p, Forfeit, ada, bob))
			})
		})
	}
}

// A player without a session is reported by no node. A player who moves is
// reported by the new node. A node that loads a running match does not report
// its start.
func TestLifecycleOfAPlayerWhoMoves(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		recorderA, recorderB := a.recordLifecycle(), b.recordLifecycle()
		first := a.enter(ada)
		away := a.enter(bob)
		p := a.begin(w, 2)
		a.Presence.Leave("demo", bob, away)
		a.Detach("demo", bob, away)
		w.passUntil(p, Open, 0)
		synctest.Wait()
		time.Sleep(time.Second)
		a.Presence.Leave("demo", ada, first)
		a.Detach("demo", ada, first)
		again := b.enter(ada)
		w.must(b.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: again}))
		w.passUntil(p, Over, 1)
		recorderA.check(t, startEvent(p, ada))
		recorderB.check(t, endEvent(p, Finished, ada))
	})
}

// A node that loads a match after its end reports nothing.
func TestLifecycleAfterTheEnd(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		recorder := b.recordLifecycle()
		a.enter(ada)
		p := a.begin(w, 1)
		w.passUntil(p, Over, 0)
		in := b.enter(ada)
		w.must(b.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: in}))
		recorder.check(t)
	})
}

// All nodes report the players of an arena, and no spectators. An arena that is
// closed before it begins causes no events.
func TestLifecycleOfAnArena(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		recorderA, recorderB := a.recordLifecycle(), b.recordLifecycle()
		p := newArena(Survival, 1)
		w.gather(p, 3, a, b)
		w.store.addWatcher(p.ID, "p_eve", AsSpectator)
		a.enter("p_eve")
		w.must(a.AttachFrom(w.Context(), p.ID, "p_eve", 0))
		w.must(a.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		w.must(a.CloseArena(w.Context(), p.ID))
		recorderA.check(t, startEvent(p, p.seatOf(0).Player, p.seatOf(2).Player), endEvent(p, Closed, p.seatOf(0).Player, p.seatOf(2).Player))
		recorderB.check(t, startEvent(p, p.seatOf(1).Player), endEvent(p, Closed, p.seatOf(1).Player))
	})
}

func TestLifecycleOfAnArenaThatNeverBegins(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		recorder := n.recordLifecycle()
		p := newArena(Survival, 1)
		w.gather(p, 2, n)
		w.must(n.CloseArena(w.Context(), p.ID))
		recorder.check(t)
	})
}

// OnLifecycle may take long. The match continues.
func TestLifecycleEventsDoNotBlock(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		release := make(chan struct{})
		n.OnLifecycle = func(LifecycleEvent) { <-release }
		n.enter(ada)
		p := n.begin(w, 1)
		w.passUntil(p, Over, 0)
		if late := now() - w.store.state(p.ID).ClosesAt; late > 6000 {
			t.Errorf("over %d ms after its close", late)
		}
		close(release)
	})
}

// A match that the store has lost ends as abandoned.
func TestLifecycleOfALostMatch(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		recorder := n.recordLifecycle()
		n.enter(ada)
		p := n.begin(w, 3)
		w.passUntil(p, Open, 1)
		w.store.clear()
		recorder.check(t, startEvent(p, ada), endEvent(p, Abandoned, ada))
	})
}
