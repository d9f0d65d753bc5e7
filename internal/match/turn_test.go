package match

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ear keeps the turns that a node tells of.
type ear struct {
	mu    sync.Mutex
	turns []Turn
}

func (n *node) listen() *ear {
	heard := new(ear)
	n.Turned = func(t Turn) {
		heard.mu.Lock()
		defer heard.mu.Unlock()
		slices.Sort(t.Players)
		heard.turns = append(heard.turns, t)
	}
	return heard
}

// check says what was heard, once all that was due is told; instants are
// checked apart.
func (heard *ear) check(t *testing.T, want ...Turn) {
	t.Helper()
	time.Sleep(5 * time.Second)
	synctest.Wait()
	heard.mu.Lock()
	defer heard.mu.Unlock()
	got := slices.Clone(heard.turns)
	for i := range got {
		got[i].At = 0
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("heard %+v, want %+v", got, want)
	}
}

func began(p *Plan, players ...string) Turn {
	return Turn{Game: "demo", Match: p.ID, Mode: p.Mode, Players: players}
}

func ended(p *Plan, why Reason, players ...string) Turn {
	t := began(p, players...)
	t.Over, t.Reason = true, why
	return t
}

// Each node tells of those who are there, when the first question opens and
// when the match is over.
func TestTurnsOfADuel(t *testing.T) {
	inBubble(t, func(w *world) {
		a, b, empty := w.node(), w.node(), w.node()
		heardA, heardB, nothing := a.listen(), b.listen(), empty.listen()
		a.enter(ada)
		b.enter(bob)
		p := a.begin(w, 2)
		w.must(b.Found(w.Context(), "demo", p.ID, bob))
		w.must(empty.Sits(w.Context(), p.ID, ada))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(heardA.turns) > 0 {
			t.Errorf("in the countdown: %+v", heardA.turns)
		}
		w.passUntil(p, Over, 1)
		heardA.check(t, began(p, ada), ended(p, Finished, ada))
		heardB.check(t, began(p, bob), ended(p, Finished, bob))
		nothing.check(t)
		s := w.store.state(p.ID)
		for _, heard := range []*ear{heardA, heardB} {
			from, to := heard.turns[0].At, heard.turns[1].At
			if from != s.StartedAt || to < s.ClosesAt || to > now()-5000 {
				t.Errorf("from %d to %d, began at %d", from, to, s.StartedAt)
			}
		}
	})
}

// Who leaves a duel that has begun ends it for both; in the countdown it never
// began.
func TestTurnsOfAForfeit(t *testing.T) {
	for name, c := range map[string]struct {
		begun bool
	}{"in the countdown": {}, "while it is played": {true}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				n := w.node()
				heard := n.listen()
				n.enter(ada)
				n.enter(bob)
				p := n.begin(w, 2)
				if c.begun {
					w.passUntil(p, Open, 0)
				}
				w.must(n.Leave(w.Context(), p.ID, ada))
				if !c.begun {
					heard.check(t)
					return
				}
				heard.check(t, began(p, ada, bob), ended(p, Forfeit, ada, bob))
			})
		})
	}
}

// Who is not here is told of by no node, or by the other; a node that takes the
// match up in its middle does not tell that it began.
func TestTurnsOfWhoMoves(t *testing.T) {
	inBubble(t, func(w *world) {
		a, b := w.node(), w.node()
		heardA, heardB := a.listen(), b.listen()
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
		heardA.check(t, began(p, ada))
		heardB.check(t, ended(p, Finished, ada))
	})
}

// A node that takes a match up after its end tells of neither.
func TestTurnsAfterTheEnd(t *testing.T) {
	inBubble(t, func(w *world) {
		a, b := w.node(), w.node()
		heard := b.listen()
		a.enter(ada)
		p := a.begin(w, 1)
		w.passUntil(p, Over, 0)
		in := b.enter(ada)
		w.must(b.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: in}))
		heard.check(t)
	})
}

// Of an arena, players are told of on all nodes, and no spectator; one that is
// closed before it begins has no turns.
func TestTurnsOfAnArena(t *testing.T) {
	inBubble(t, func(w *world) {
		a, b := w.node(), w.node()
		heardA, heardB := a.listen(), b.listen()
		p := newArena(Survival, 1)
		w.gather(p, 3, a, b)
		w.store.watch(p.ID, "p_eve", AsSpectator)
		a.enter("p_eve")
		w.must(a.Enter(w.Context(), p.ID, "p_eve", 0))
		w.must(a.Begin(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		w.must(a.Shut(w.Context(), p.ID))
		heardA.check(t, began(p, p.seatOf(0).Player, p.seatOf(2).Player), ended(p, Closed, p.seatOf(0).Player, p.seatOf(2).Player))
		heardB.check(t, began(p, p.seatOf(1).Player), ended(p, Closed, p.seatOf(1).Player))
	})
}

func TestTurnsOfAnArenaThatNeverBegins(t *testing.T) {
	inBubble(t, func(w *world) {
		n := w.node()
		heard := n.listen()
		p := newArena(Survival, 1)
		w.gather(p, 2, n)
		w.must(n.Shut(w.Context(), p.ID))
		heard.check(t)
	})
}

// Who is told may take long over many players: the match goes on meanwhile.
func TestTurnsHoldNothingUp(t *testing.T) {
	inBubble(t, func(w *world) {
		n := w.node()
		release := make(chan struct{})
		n.Turned = func(Turn) { <-release }
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
func TestTurnsOfALostMatch(t *testing.T) {
	inBubble(t, func(w *world) {
		n := w.node()
		heard := n.listen()
		n.enter(ada)
		p := n.begin(w, 3)
		w.passUntil(p, Open, 1)
		w.store.empty()
		heard.check(t, began(p, ada), ended(p, Abandoned, ada))
	})
}
