package match

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"laststand/internal/protocol"
)

func TestAttachRefusals(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := n.begin(w, 1)
		for _, a := range []Attachment{{Match: "m_none", Player: ada}, {Match: p.ID, Player: "p_eve"}} {
			a.Sub = new(frameRecorder)
			if err := n.Attach(w.Context(), a); !errors.Is(err, ErrNotFound) {
				w.Errorf("%s in %s: %v", a.Player, a.Match, err)
			}
		}
		n.enter(bob)
		if err := n.AttachSession(w.Context(), "demo", "m_none", bob); !errors.Is(err, ErrNotFound) {
			w.Errorf("found too early: %v", err)
		}
		if err := n.AttachSession(w.Context(), "demo", "m_none", "p_away"); err != nil {
			w.Errorf("nobody here to lead: %v", err)
		}
	})
}

// A session that asks for the state gets it first, then the pushes after its
// number, then the live pushes.
func TestAttachWithState(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(ada)
		p := n.begin(w, 2)
		w.passUntil(p, Open, 0)
		if _, err := n.answer(p, ada, 0, rightAnswer(&p.Questions[0])); err != nil {
			w.Fatal(err)
		}
		for _, after := range []int64{0, 2, 3, 99} {
			w.checkSync(n, p, after)
		}
		w.passUntil(p, Over, 1)
		for _, after := range []int64{0, 3, 7} {
			w.checkSync(n, p, after)
		}
		if frames := in.frames(); len(frames) != 3 { // until newer sessions replaced it
			w.Errorf("the replaced session has %d frames", len(frames))
		}
	})
}

func (w *cluster) checkSync(n *node, p *Plan, after int64) {
	w.Helper()
	in := n.enter(ada)
	var got *protocol.MatchState
	err := n.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: in, After: after, OnState: func(s protocol.MatchState) {
		if len(in.frames()) > 0 || in.forgot != 1 {
			w.Errorf("after %d: %d frames before the state, forgot %d times", after, len(in.frames()), in.forgot)
		}
		got = &s
	}})
	if err != nil || got == nil {
		w.Fatalf("after %d: %v, %+v", after, err, got)
	}
	s := w.store.state(p.ID)
	if got.Seq != s.Seq || got.Phase != string(s.Phase) || got.Found.Players != 2 {
		w.Errorf("after %d: %+v, it is at %+v", after, got, s)
	}
	w.checkComplete(p, in, min(after, s.Seq))
}

// Sessions connect and disconnect during pushes. Each gets every frame after
// its number once, in order.
func TestAttachDuringPushes(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := newPlan("m_1", now()+100, 25)
		p.RevealMS = 1
		if err := n.Start(w.Context(), p); err != nil {
			w.Fatal(err)
		}
		var all sync.WaitGroup
		for _, player := range []string{ada, bob} {
			all.Go(func() { w.attachRepeatedly(n, p, player) })
			all.Go(func() {
				for i := range p.Questions {
					w.answerOnceOpen(p, n, player, i)
				}
			})
		}
		all.Wait()
		w.checkStepsAppliedOnce()
	})
}

// answerOnceOpen answers a question as soon as it is open.
func (w *cluster) answerOnceOpen(p *Plan, n *node, player string, question int) {
	for range 10_000 {
		if _, err := n.answer(p, player, question, rightAnswer(&p.Questions[question])); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	w.Errorf("question %d never opened", question)
}

// attachRepeatedly attaches one session after the other, each from the last
// number of the previous one, until the match is over.
func (w *cluster) attachRepeatedly(n *node, p *Plan, player string) {
	after := int64(0)
	for last := false; !last; {
		last = w.store.state(p.ID).Phase == Over
		in := new(frameRecorder)
		n.Presence.Enter("demo", player, in)
		a := Attachment{Match: p.ID, Player: player, Sub: in, After: after}
		if err := n.Attach(w.Context(), a); err != nil {
			w.Error(err)
			return
		}
		time.Sleep(rand.N(30 * time.Millisecond))
		n.Detach("demo", player, in)
		for _, seq := range in.seqs(w) {
			if seq != after+1 {
				w.Errorf("%s: number %d after %d", player, seq, after)
				return
			}
			after = seq
		}
	}
	if s := w.store.state(p.ID); after != s.Seq {
		w.Errorf("%s has seen %d of %d", player, after, s.Seq)
	}
}

// A client may have seen more than its new node. The client gets no frame
// twice, and the other sessions of the node catch up.
func TestAttachAtANodeThatIsBehind(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		a.enter(ada)
		inB := b.enter(bob)
		p := a.begin(w, 1)
		if err := b.AttachSession(w.Context(), "demo", p.ID, bob); err != nil {
			w.Fatal(err)
		}
		b.link.set(followsNothing)
		w.bus.leave(b.Node)
		b.Wheel.Close()
		w.passUntil(p, Open, 0)
		for _, player := range []string{ada, bob} {
			if _, err := a.answer(p, player, 0, rightAnswer(&p.Questions[0])); err != nil {
				w.Fatal(err)
			}
		}
		in := b.enter(ada)
		if err := b.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: in, After: 3}); err != nil {
			w.Fatal(err)
		}
		w.checkComplete(p, in, 3)
		w.checkComplete(p, inB, 0)
	})
}

// A session that is already attached gets no frame twice, unless it asks for
// the state.
func TestAttachAgain(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(ada)
		p := n.begin(w, 1)
		if err := n.AttachSession(w.Context(), "demo", p.ID, ada); err != nil {
			w.Fatal(err)
		}
		if err := n.Start(w.Context(), p); err != nil {
			w.Fatal(err)
		}
		w.checkComplete(p, in, 0)
		w.passUntil(p, Over, 0)
		w.checkComplete(p, in, 0)
	})
}

// A session that a newer one has replaced must not be attached again.
func TestAttachOfASessionThatWasReplaced(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		former, newer := n.enter(ada), n.enter(ada)
		p := n.begin(w, 1)
		if err := n.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: former}); err != nil {
			w.Fatal(err)
		}
		w.passUntil(p, Over, 0)
		w.checkComplete(p, newer, 0)
		if got := former.seqs(w); len(got) != 0 {
			w.Errorf("the former session was pushed %v", got)
		}
	})
}

// A disconnect does not remove the seat. The end of an old session does not affect the
// session that replaced it.
func TestDetach(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		first := n.enter(ada)
		p := n.begin(w, 1)
		second := n.enter(ada)
		if err := n.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: second, After: 1}); err != nil {
			w.Fatal(err)
		}
		n.Detach("demo", ada, first)
		n.Detach("demo", "p_eve", first)
		w.passUntil(p, Open, 0)
		w.checkComplete(p, second, 1)
		n.Detach("demo", ada, second)
		w.passUntil(p, Over, 0)
		if got := len(second.frames()); got != 1 {
			w.Errorf("%d frames after it went", got)
		}
	})
}

// A request for an old match does not remove a player from the current one.
func TestAnOldMatchReplacesNoSeat(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(ada)
		old := n.begin(w, 1)
		w.passUntil(old, Over, 0)
		p := newPlan("m_2", now()+3000, 1)
		if err := n.Start(w.Context(), p); err != nil {
			w.Fatal(err)
		}
		look := Attachment{Match: old.ID, Player: ada, Sub: in, OnState: func(protocol.MatchState) {}}
		if err := n.Attach(w.Context(), look); err != nil {
			w.Fatal(err)
		}
		if !n.IsInMatch("demo", ada) {
			w.Error("not seated any more")
		}
		before := len(in.frames())
		n.Detach("demo", ada, in)
		w.passUntil(p, Over, 0)
		if more := len(in.frames()) - before; more != 0 {
			w.Errorf("%d frames after it went", more)
		}
	})
}

func TestStatus(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := n.begin(w, 1)
		check := func(when string, want bool) {
			w.Helper()
			r, err := n.Status(w.Context(), p.ID)
			if err != nil || r != (Status{Seq: w.store.state(p.ID).Seq, Running: want}) {
				w.Errorf("%s: %+v, %v", when, r, err)
			}
		}
		check("at the start", true)
		if waits, err := n.IsUnsettled(w.Context(), p.ID); waits || err != nil {
			w.Errorf("unsettled at the start: %v, %v", waits, err)
		}
		w.passUntil(p, Over, 0)
		check("at the end", false)
		if r, err := n.Status(w.Context(), "m_none"); r != (Status{}) || err != nil {
			w.Errorf("no such match: %+v, %v", r, err)
		}
		n.link.set(func(string, string) fault { return fails })
		if _, err := n.Status(w.Context(), p.ID); !errors.Is(err, errDown) {
			w.Errorf("out of reach: %v", err)
		}
	})
}

func TestPresence(t *testing.T) {
	t.Parallel()
	var p Presence
	first, second := new(frameRecorder), new(frameRecorder)
	if former := p.Enter("demo", ada, first); former != nil {
		t.Errorf("replaced %v", former)
	}
	if _, ok := p.Find("other", ada); ok {
		t.Error("found in another game")
	}
	if former := p.Enter("demo", ada, second); former != first {
		t.Errorf("replaced %v", former)
	}
	if p.Leave("demo", ada, first) {
		t.Error("the replaced session took the newer one along")
	}
	if sub, ok := p.Find("demo", ada); !ok || sub != second {
		t.Errorf("%v, %v", sub, ok)
	}
	if !p.Leave("demo", ada, second) {
		t.Error("it could not leave")
	}
	if _, ok := p.Find("demo", ada); ok {
		t.Error("found after it left")
	}
}
