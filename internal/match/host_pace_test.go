package match

import (
	"testing"
	"testing/synctest"
	"time"
)

// hosted creates an arena with pace host whose host is at a node.
func (w *cluster) hosted(p *Plan, n *node, players int) (*frameRecorder, []*frameRecorder) {
	w.Helper()
	p.Arena.HostPaced = true
	in := w.gather(p, players, n)
	return w.host(p, n), in
}

// host attaches the host of an arena at a node.
func (w *cluster) host(p *Plan, n *node) *frameRecorder {
	w.Helper()
	w.store.addWatcher(p.ID, host, AsHost)
	in := n.enter(host)
	w.must(n.AttachFrom(w.Context(), p.ID, host, 0))
	return in
}

// While the host is present at any node, no question opens by itself.
func TestTheHostIsHere(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		p := newArena(Buzzer, 2)
		in, players := w.hosted(p, b, 2)
		w.must(a.StartArena(w.Context(), p.ID))
		if err := b.Proceed(w.Context(), p.ID, -1); codeOf(err) != "question_not_open" {
			w.Errorf("in the countdown: %v", err)
		}
		for _, step := range []struct {
			at    State
			after int
		}{{State{Phase: Countdown, Question: -1}, -1}, {State{Phase: Revealed}, 0}} {
			w.passUntil(p, step.at.Phase, step.at.Question)
			time.Sleep(10 * time.Minute)
			if s := w.store.state(p.ID); s.Phase != step.at.Phase || !s.HostPaced {
				w.Fatalf("it went on by itself: %+v", s)
			}
			w.must(b.Proceed(w.Context(), p.ID, step.after))
			if s := w.store.state(p.ID); s.Phase != Open || s.Question != step.after+1 || s.OpensAt != now() {
				w.Fatalf("%+v", s)
			}
			w.must(b.Proceed(w.Context(), p.ID, step.after)) // a repeated request does nothing
		}
		time.Sleep(time.Second)
		w.must(b.Proceed(w.Context(), p.ID, 1))
		if s := w.store.state(p.ID); s.Phase != Revealed || s.CloseReason != "host" {
			w.Fatalf("%+v", s)
		}
		w.passUntil(p, Over, 1)
		if late := now() - w.store.state(p.ID).ClosesAt; late > 0 {
			w.Errorf("%d ms after its time", late)
		}
		w.checkComplete(p, in, 0)
		w.checkComplete(p, players[1], 0)
	})
}

// A host who is away for a minute loses the pace. A host who returns earlier,
// even at another node, keeps it.
func TestTheHostGoesAway(t *testing.T) {
	t.Parallel()
	for name, comesBack := range map[string]bool{"for good": false, "for 50 s": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				a, b := w.node(), w.node()
				p := newArena(Buzzer, 3)
				in, _ := w.hosted(p, a, 2)
				w.must(a.StartArena(w.Context(), p.ID))
				time.Sleep(5 * time.Second)
				w.must(a.Proceed(w.Context(), p.ID, -1))
				w.must(a.Proceed(w.Context(), p.ID, 0))
				a.Presence.Leave("demo", host, in)
				a.Detach("demo", host, in)
				time.Sleep(50 * time.Second)
				if s := w.store.state(p.ID); s.Phase != Revealed {
					w.Fatalf("%+v", s)
				}
				if comesBack {
					w.host(p, b)
				}
				time.Sleep(20 * time.Second)
				synctest.Wait()
				s := w.store.state(p.ID)
				if went := s.Question == 1; went == comesBack || s.HostPaced != comesBack {
					w.Fatalf("%+v", s)
				}
				if comesBack {
					w.must(b.CloseArena(w.Context(), p.ID))
					return
				}
				w.passUntil(p, Over, 2) // from now on everything opens by itself
				if late := now() - w.store.state(p.ID).ClosesAt; late > 2800 {
					w.Errorf("%d ms after the last close", late)
				}
			})
		})
	}
}

// A client with role host may have no session at all.
func TestNobodyIsTheHost(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := newArena(Buzzer, 1)
		p.Arena.HostPaced = true
		w.gather(p, 2, n)
		w.must(n.StartArena(w.Context(), p.ID))
		starts := w.store.state(p.ID).StartsAt
		w.passUntil(p, Open, 0)
		if waited := now() - starts; waited < hostAwayMS || waited > hostAwayMS+100 {
			w.Errorf("waited %d ms", waited)
		}
	})
}
