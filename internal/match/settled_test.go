package match

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// settledCounter counts how often the players of a node were notified of a
// settled match.
type settledCounter struct {
	players atomic.Int64
	fails   atomic.Int64 // remaining failures
}

func (n *node) countSettled() *settledCounter {
	c := new(settledCounter)
	n.OnSettled = func(_ context.Context, s Settlement) error {
		if c.fails.Add(-1) >= 0 || s.Game != "demo" {
			return errors.New("out of reach")
		}
		if s.Ratings[bob] == 1533 {
			c.players.Add(int64(len(s.Sessions)))
		}
		return nil
	}
	return c
}

// The notification of a settled result is lost. The node detects it and
// notifies its players once, also after failures.
func TestSettledWithoutANotification(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails   int64
		word    bool // joins before the node checks
		counts  bool
		players int64
	}{
		"lost":                   {players: 1, counts: true},
		"lost, and told wrong":   {fails: 2, players: 1, counts: true},
		"heard":                  {word: true, players: 1, counts: true},
		"heard, but told wrong":  {word: true, fails: 1, players: 1, counts: true},
		"counts for no board":    {players: 0},
		"on no board, and asked": {word: true, players: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				a, b := w.node(), w.node()
				a.enter(ada)
				b.enter(bob)
				p := newPlan("m_1", now()+3000, 1)
				p.Counts = c.counts
				here := b.countSettled()
				here.fails.Store(c.fails)
				w.must(a.Start(w.Context(), p))
				w.must(b.AttachSession(w.Context(), "demo", p.ID, bob))
				w.passUntil(p, Over, 0)
				time.Sleep(10 * time.Second)
				if n := here.players.Load(); n != 0 {
					t.Errorf("%d told before it is settled", n)
				}
				w.store.setSettledNotified(p.ID, map[string]int{bob: 1533})
				for range 2 {
					if c.word {
						_ = b.NotifySettled(w.Context(), p.ID, map[string]int{bob: 1533})
					}
				}
				time.Sleep(time.Minute)
				if n := here.players.Load(); n != c.players {
					t.Errorf("%d told, want %d", n, c.players)
				}
			})
		})
	}
}

// A node that has notified its players does not check again.
func TestSettledIsNotifiedOnce(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		here := n.countSettled()
		n.enter(ada)
		p := n.begin(w, 1)
		w.passUntil(p, Over, 0)
		n.MarkSettledNotified(p.ID)
		w.store.setSettledNotified(p.ID, nil)
		w.must(n.NotifySettled(w.Context(), p.ID, nil))
		w.must(n.NotifySettled(w.Context(), "m_none", nil))
		time.Sleep(time.Minute)
		if n := here.players.Load(); n != 0 {
			t.Errorf("%d told", n)
		}
	})
}
