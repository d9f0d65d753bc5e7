package match

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// The store fails when a node must send personal results of a question that
// another node revealed. The players get them once, a little later.
func TestPersonalResultsFollowALateClose(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n, other := w.node(), w.node()
		e := w.newArenaRun(newArena(Survival, 2), 53, n, other)
		var fail atomic.Int64
		fail.Store(2)
		fault := func(method, _ string) fault {
			s := w.store.state(e.plan.ID)
			if method == "Read" && s.Phase == Revealed && s.Question == 1 && fail.Add(-1) >= 0 {
				return fails
			}
			return works
		}
		n.link.set(fault)
		other.link.set(fault)
		e.play()
		e.check()
		if fail.Load() > 0 {
			w.Error("nothing was read")
		}
	})
}

// bundleRecorder is a session that records which frames were pushed together.
type bundleRecorder struct {
	frameRecorder
	all []*frameRecorder
}

func (b *bundleRecorder) Push(match string, frames ...[]byte) {
	one := new(frameRecorder)
	one.Push(match, frames...)
	b.frameRecorder.Push(match, frames...)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, one)
}

// kinds returns the types of the frames that were pushed together, per push.
func (b *bundleRecorder) kinds(t testing.TB) []string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var kinds []string
	for _, one := range b.all {
		var types []string
		for _, f := range one.read(t) {
			types = append(types, f.Type)
		}
		kinds = append(kinds, strings.Join(types, ", "))
	}
	return kinds
}

// Players at the revealing node get their personal result with the reveal, and
// also the next question if it opens at once. The node reads nothing in
// between.
func TestPersonalResultsComeWithTheReveal(t *testing.T) {
	for name, test := range map[string]struct {
		revealMS int64
		want     string
	}{
		"the next question later":   {2500, "question.closed, own"},
		"the next question at once": {0, "question.closed, own, question"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				n, p := w.node(), newArena(Survival, 2)
				p.RevealMS = test.revealMS
				ins := w.gather(p, FullView+1, n)
				first := &bundleRecorder{}
				n.Presence.Enter("demo", p.seatOf(0).Player, first)
				w.must(n.Attach(w.Context(), Attachment{Match: p.ID, Player: p.seatOf(0).Player, Sub: first}))
				var reads atomic.Int64
				n.link.set(func(method, _ string) fault {
					if method == "Read" && w.store.state(p.ID).Phase == Revealed {
						reads.Add(1)
					}
					return works
				})
				w.must(n.StartArena(w.Context(), p.ID))
				w.passUntil(p, Open, 0)
				for i := range ins {
					if _, err := n.answer(p, p.seatOf(i).Player, 0, rightAnswer(&p.Questions[0])); err != nil {
						w.Fatal(err)
					}
				}
				time.Sleep(10 * time.Millisecond)
				if kinds := first.kinds(w); !slices.Contains(kinds, test.want) || reads.Load() > 0 {
					w.Errorf("pushed %q, read %d times", kinds, reads.Load())
				}
			})
		})
	}
}

// A node that learns only from a read that everyone has answered reads once
// more for the personal results of the reveal.
func TestPersonalResultsOfACloseByAnotherNode(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n, p := w.node(), newArena(Survival, 2)
		ins := w.gather(p, FullView+1, n)
		n.link.set(func(method, _ string) fault {
			if method == "Step" && w.store.state(p.ID).hasAllAnswers() {
				return fails
			}
			return works
		})
		w.must(n.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		for i := range ins {
			if _, err := n.answer(p, p.seatOf(i).Player, 0, rightAnswer(&p.Questions[0])); err != nil {
				w.Fatal(err)
			}
		}
		l, err := n.loadMatch(w.Context(), p.ID)
		w.must(err)
		st := stepRun{engine: n.Engine, match: l}
		v, err := st.read(w.Context(), View{})
		w.must(err)
		if !v.hasAllAnswers() || len(st.recipients.players) != len(ins) {
			w.Errorf("%s, %d players are read of %d", v.Phase, len(st.recipients.players), len(ins))
		}
	})
}

// A node that wants to close a question finds that everyone has answered the
// next one. It sends the personal results of the next one, without the records
// of the former.
func TestPersonalResultsOfTheNextQuestion(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n, other, p := w.node(), w.node(), newArena(Survival, 3)
		ins := w.gather(p, FullView+1, n)
		answer := func(at *node, i, question int, given protocol.Given) {
			if _, err := at.answer(p, p.seatOf(i).Player, question, given); err != nil {
				w.Error(err)
			}
		}
		w.must(n.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		for i := range ins[1:] {
			answer(n, i+1, 0, rightAnswer(&p.Questions[0]))
		}
		held := make(chan struct{})
		n.link.set(func(method, _ string) fault {
			switch method {
			case "Read":
				<-held
			case "ListDue", "ReadProgress":
				return fails
			}
			return works
		})
		var last sync.WaitGroup
		last.Go(func() { answer(n, 0, 0, rightAnswer(&p.Questions[0])) })
		w.passUntil(p, Open, 1)
		other.link.set(followsNothing)
		answer(other, 0, 1, wrongAnswer(&p.Questions[1]))
		for i := range ins[1:] {
			answer(other, i+1, 1, rightAnswer(&p.Questions[1]))
		}
		close(held)
		last.Wait()
		synctest.Wait()
		for i, in := range ins {
			own := string(in.lastRaw(w, protocol.TypeOwn))
			if !strings.Contains(own, `"question":1,"given":{"`) || strings.Contains(own, `"correct":true`) != (i > 0) {
				w.Errorf("%d: %s", i, own)
			}
		}
	})
}

// A node does not read the records that it accepted itself, neither for
// personal results nor before it closes a question. It reads those that another
// node accepted.
func TestPersonalResultsFromLocalRecords(t *testing.T) {
	for name, moved := range map[string]bool{"all here": false, "one elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				n, p := w.node(), newArena(Survival, 2)
				ins := w.gather(p, FullView+2, n)
				w.must(n.StartArena(w.Context(), p.ID))
				w.passUntil(p, Open, 0)
				for i := range ins {
					at, given := n, rightAnswer(&p.Questions[0])
					switch {
					case i == 0 && moved:
						at = w.node()
					case i+1 == len(ins):
						n.link.recordReads()
						given = wrongAnswer(&p.Questions[0])
					}
					if _, err := at.answer(p, p.seatOf(i).Player, 0, given); err != nil {
						w.Fatal(err)
					}
				}
				synctest.Wait()
				if reads := n.link.recordReads(); len(reads) == 0 || len(reads[0].Players) != len(ins) || reads[0].OmitRecords == moved {
					w.Errorf("%+v", reads)
				}
				for i, in := range ins {
					own := string(in.lastRaw(w, "own"))
					right := i+1 < len(ins)
					if !strings.Contains(own, `"question":0,"given":{"`) || strings.Contains(own, `"correct":true`) != right {
						w.Errorf("%d: %s", i, own)
					}
				}
			})
		})
	}
}

// lastRaw returns the newest frame of a type as pushed.
func (in *frameRecorder) lastRaw(t testing.TB, kind string) (last []byte) {
	t.Helper()
	for _, frame := range in.frames() {
		if frameOf(t, frame).Type == kind {
			last = frame
		}
	}
	return last
}
