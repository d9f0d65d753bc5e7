package match

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/protocol"
)

// checkAbandoned checks that a session received exactly one end of its match,
// as abandoned, with the number after the last push it has seen.
func (w *cluster) checkAbandoned(in *frameRecorder) {
	w.Helper()
	frames := in.numbered(w)
	for i, raw := range frames {
		if f := frameOf(w, raw); f.Seq != int64(i+1) {
			w.Fatalf("number %d is %s", i+1, raw)
		}
	}
	last := in.last(w, protocol.TypeMatchOver)
	if last.Data.Reason != "abandoned" || len(last.Data.Standings) > 0 || in.count(w, protocol.TypeMatchOver) != 1 ||
		last.Seq != int64(len(frames)) {
		w.Errorf("%+v, told %d times", last, in.count(w, protocol.TypeMatchOver))
	}
}

// countAbandoned is the number of matches that nodes count as abandoned.
func countAbandoned(nodes ...*node) (n float64) {
	for _, one := range nodes {
		for _, mode := range []Mode{Duel, Buzzer, Survival} {
			n += testutil.ToFloat64(one.metrics.ended.WithLabelValues(string(mode), string(Abandoned)))
		}
	}
	return n
}

// A replica that was behind is promoted. The next operation detects it, and the
// match ends once, in the same way for all players.
func TestTheStoreForgetsSteps(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Buzzer, Survival} {
		for _, back := range []Phase{Countdown, Open, Revealed} {
			t.Run(string(mode)+" "+string(back), func(t *testing.T) {
				inBubble(t, func(w *cluster) {
					a, b := w.node(), w.node()
					p := newArena(mode, 4)
					in := w.gather(p, 4, a, b)
					w.must(a.StartArena(w.Context(), p.ID))
					w.passUntil(p, back, map[Phase]int{Countdown: -1}[back])
					old := w.store.copyOf(p.ID)
					w.passUntil(p, Open, 1)
					w.bus.set(func(string) (int, time.Duration) { return 0, 0 })
					if _, err := a.answer(p, p.seatOf(0).Player, 1, wrongAnswer(&p.Questions[1])); err != nil {
						w.Fatal(err)
					}
					w.store.put(p.ID, old)
					time.Sleep(3 * time.Second)
					synctest.Wait()
					for _, one := range in {
						w.checkAbandoned(one)
					}
					if n := countAbandoned(a, b); n != 1 {
						w.Errorf("counted %v times", n)
					}
					if _, settles := w.store.result(p.ID); settles || len(a.results())+len(b.results()) > 0 {
						w.Error("something of it settles")
					}
					if len(a.ended)+len(b.ended) != 1 {
						w.Errorf("told to the arenas: %d and %d times", len(a.ended), len(b.ended))
					}
					w.checkSyncAbandoned(p, a, b)
				})
			})
		}
	}
}

// checkSyncAbandoned checks that a player who asks for an abandoned match gets
// its end, at any node.
func (w *cluster) checkSyncAbandoned(p *Plan, nodes ...*node) {
	w.Helper()
	for _, n := range nodes {
		in := n.enter(p.seatOf(0).Player)
		var got protocol.MatchState
		w.must(n.Attach(w.Context(), Attachment{
			Match: p.ID, Player: p.seatOf(0).Player, Sub: in, After: 2, OnState: func(s protocol.MatchState) { got = s },
		}))
		if over := in.last(w, protocol.TypeMatchOver); over.Data.Reason != "abandoned" || got.Phase != "over" || over.Seq != max(got.Seq, 2)+1 {
			w.Errorf("%+v after %+v", over, got)
		}
		if n.IsInMatch("demo", p.seatOf(0).Player) {
			w.Error("still seated")
		}
	}
}

// A player who reconnects may be the first to reach a match that lost data. The
// new session gets the end like the existing ones.
func TestAttachDetectsALossOfTheStore(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(bob)
		p := n.begin(w, 2)
		old := w.store.copyOf(p.ID)
		w.passUntil(p, Open, 0)
		w.store.put(p.ID, old)
		back := n.enter(ada)
		w.must(n.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: back, OnState: func(protocol.MatchState) {}}))
		w.checkAbandoned(in)
		w.checkAbandoned(back)
		if _, err := n.answer(p, ada, 0, rightAnswer(&p.Questions[0])); codeOf(err) != "question_not_open" && codeOf(err) != "question_closed" {
			w.Errorf("%v", err)
		}
		time.Sleep(10 * time.Minute)
		w.checkAbandoned(in)
		if matches, _ := n.countHeld(); matches != 0 {
			w.Error("it stays")
		}
	})
}

// An answer detects the loss, too.
func TestAnAnswerDetectsALossOfTheStore(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(bob)
		p := n.begin(w, 2)
		w.passUntil(p, Open, 0)
		old := w.store.copyOf(p.ID)
		if _, err := n.answer(p, bob, 0, rightAnswer(&p.Questions[0])); err != nil {
			w.Fatal(err)
		}
		w.store.put(p.ID, old)
		if _, err := n.answer(p, ada, 0, rightAnswer(&p.Questions[0])); !errors.Is(err, ErrAbandoned) {
			w.Errorf("%v", err)
		}
		w.checkAbandoned(in)
	})
}

// The store is empty after a failover. A running match is abandoned and stays
// abandoned.
func TestTheStoreIsEmpty(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		p := newArena(Survival, 4)
		in := w.gather(p, 4, a, b)
		w.must(a.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 1)
		w.store.clear()
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		for _, one := range in {
			w.checkAbandoned(one)
		}
		if countAbandoned(a, b) == 0 || len(a.results())+len(b.results()) > 0 {
			w.Error("not counted, or settled")
		}
		for _, n := range []*node{a, b} {
			if matches, fed := n.countHeld(); matches+fed > 0 {
				w.Errorf("%d matches and %d players stay", matches, fed)
			}
			if _, err := n.answer(p, p.seatOf(0).Player, 1, rightAnswer(&p.Questions[1])); codeOf(err) != "not_in_match" {
				w.Errorf("%v", err)
			}
		}
	})
}

// Players in a lost lobby have seen no match, so they get arena.closed instead
// of match.over.
func TestALobbyIsLost(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := w.gather(newArena(Buzzer, 1), 2, n)
		time.Sleep(2 * time.Second)
		w.store.clear()
		time.Sleep(2 * time.Second)
		for _, one := range in {
			frames := one.frames()
			if !bytes.Equal(frames[len(frames)-1], lobbyClosedFrame(newArena(Buzzer, 1), Abandoned)) || len(one.seqs(w)) > 0 {
				w.Errorf("%s", frames)
			}
		}
	})
}

// Other nodes ended a match that had lost data. Their result stands. At a node
// that had seen more of it, the match is over, too.
func TestAResultAfterALossStays(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		p := newPlan("m_1", now()+3000, 2)
		w.must(a.Start(w.Context(), p))
		in := a.enter(ada)
		w.must(a.AttachSession(w.Context(), "demo", p.ID, ada))
		w.passUntil(p, Revealed, 0)
		old := w.store.copyOf(p.ID)
		w.passUntil(p, Revealed, 1)
		a.link.set(func(string, string) fault { return fails })
		w.store.put(p.ID, old)
		w.must(b.Leave(w.Context(), p.ID, bob))
		a.link.set(nil)
		back := a.enter(bob)
		w.must(a.Attach(w.Context(), Attachment{Match: p.ID, Player: bob, Sub: back, OnState: func(protocol.MatchState) {}}))
		if over := back.last(w, protocol.TypeMatchOver); over.Data.Reason != "forfeit" {
			w.Errorf("%+v", over)
		}
		time.Sleep(3 * time.Second)
		w.checkAbandoned(in)
		if r, ok := w.store.result(p.ID); !ok || r.Reason != Forfeit || countAbandoned(a, b) != 0 {
			w.Errorf("%v, %+v", ok, r)
		}
		if a.IsInMatch("demo", ada) {
			w.Error("still seated")
		}
	})
}

// Late pushes of an abandoned match are not delivered after its end.
func TestNothingComesAfterTheEnd(t *testing.T) {
	t.Parallel()
	p := newPlan("m_1", 0, 2)
	in := new(frameRecorder)
	l := newLocalMatch(View{Plan: p, State: State{Phase: Open, Seq: 2, Version: 5}})
	l.subs[ada] = in
	lost := State{Phase: Over, EndReason: Abandoned, Version: 3}
	if !l.deliver(delivery{state: &lost}) || len(in.frames()) != 1 {
		t.Fatalf("%s", in.frames())
	}
	late := State{Phase: Revealed, Version: 9}
	if !l.deliver(delivery{frames: frames{first: 4, bytes: [][]byte{[]byte("late")}}, state: &late}) || !l.deliver(delivery{frames: frames{first: 9, bytes: [][]byte{nil}}}) {
		t.Error("it asks for what is missing")
	}
	l.catchUp(View{State: State{Phase: Revealed, Version: 9, Seq: 4}, Frames: [][]byte{[]byte("late")}})
	if s := l.knownState(); len(in.frames()) != 1 || s.Phase != Over || l.knownVersion() != 0 {
		t.Errorf("%s, %+v", in.frames(), s)
	}
}

// Other nodes continued a match that had lost data, until its push number
// equals the number seen here. Players who have not seen the end get one.
func TestAnEndThatWasNotSeen(t *testing.T) {
	t.Parallel()
	in := new(frameRecorder)
	l := newLocalMatch(View{Plan: newPlan("m_1", 0, 2), State: State{Phase: Revealed, Seq: 4, Version: 5}})
	l.subs[ada] = in
	l.catchUp(View{State: State{Phase: Over, EndReason: Forfeit, Seq: 4, Version: 5}})
	l.catchUp(View{State: State{Phase: Settled, EndReason: Forfeit, Seq: 4, Version: 5}})
	if f := in.read(t); len(f) != 1 || f[0].Seq != 5 || f[0].Data.Reason != "abandoned" {
		t.Errorf("%+v", f)
	}
}
