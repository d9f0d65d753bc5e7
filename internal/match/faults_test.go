package match

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// The store fails for 5 s in each phase. The match continues, and nothing is
// lost.
func TestTheStoreIsDownForAWhile(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{Countdown, Open, Revealed} {
		t.Run(string(phase), func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				n := w.node()
				inA, inB := n.enter(ada), n.enter(bob)
				p := n.begin(w, 3)
				question := map[Phase]int{Countdown: -1}[phase]
				w.passUntil(p, phase, question)
				n.link.set(func(string, string) fault { return fails })
				time.Sleep(5 * time.Second)
				n.link.set(nil)
				if phase == Revealed { // there is no answer to question 0
					w.passUntil(p, Over, 2)
					w.checkComplete(p, inA, 0)
					return
				}
				w.play(p, n, n)
				w.checkAllComplete(p, inA, inB)
			})
		})
	}
}

// After a short fault the step is retried soon.
func TestAStepIsRetriedSoon(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		n.enter(ada)
		p := n.begin(w, 1)
		time.Sleep(2950 * time.Millisecond)
		n.link.set(func(string, string) fault { return fails })
		time.Sleep(300 * time.Millisecond)
		n.link.set(nil)
		w.passUntil(p, Open, 0)
		if late := now() - p.StartsAt; late > 600 {
			w.Errorf("%d ms late", late)
		}
	})
}

// An outage delays the opening of a question. The question is then open for its
// full limit.
func TestALateQuestionIsOpenForItsWholeTime(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(ada)
		p := n.begin(w, 1)
		n.link.set(func(string, string) fault { return fails })
		time.Sleep(6 * time.Second)
		n.link.set(nil)
		w.passUntil(p, Open, 0)
		asked := in.last(w, "question").Data
		if asked.OpensAt < p.StartsAt+3000 || now()-asked.OpensAt > 100 || asked.ClosesAt != asked.OpensAt+p.LimitMS {
			w.Errorf("at %d: %+v", now(), asked)
		}
	})
}

// A third of all calls execute and lose their reply, or fail. Nothing that is
// retried is applied twice.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]fault{"lost": loses, "failed": fails} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				a, b := w.node(), w.node()
				inA, inB := a.enter(ada), b.enter(bob)
				p := a.begin(w, 10)
				if err := b.AttachSession(w.Context(), "demo", p.ID, bob); err != nil {
					w.Fatal(err)
				}
				for _, n := range []*node{a, b} {
					n.link.set(func(string, string) fault {
						if rand.IntN(3) == 0 {
							return failure
						}
						return works
					})
				}
				w.play(p, a, b)
				a.link.set(nil)
				b.link.set(nil)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				w.checkAllComplete(p, inA, inB)
			})
		})
	}
}

// The client library repeats a script without a reply. Others may have pushed
// in between. Every frame must keep its number.
func TestARepeatedCommit(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]bool{"alone": false, "after another": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				n := w.node()
				inA, inB := n.enter(ada), n.enter(bob)
				p := n.begin(w, 1)
				again := &retryingStore{memoryStore: w.store}
				n.Store = again
				w.passUntil(p, Open, 0)
				again.between = func() {
					if other {
						w.commitElsewhere(p, bob, 0)
					}
				}
				if _, err := n.answer(p, ada, 0, rightAnswer(&p.Questions[0])); err != nil {
					w.Fatal(err)
				}
				w.checkComplete(p, inA, 0)
				w.checkComplete(p, inB, 0)
				if closed := w.store.state(p.ID).Phase == Revealed; closed != other {
					w.Errorf("closed: %v", closed)
				}
			})
		})
	}
}

// commitElsewhere commits a wrong answer of which this node gets no message.
func (w *cluster) commitElsewhere(p *Plan, player string, question int) {
	w.Helper()
	s := w.store.state(p.ID)
	r := judgedBy(w, p, s, Submission{Player: player, At: now(), Answer: answerTo(p, question, wrongAnswer(&p.Questions[question]))})
	seen := newPush(p, protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: question, Player: player})
	out, err := w.store.Commit(w.Context(), Attempt{Match: p.ID, ID: newID(), OpensAt: s.OpensAt, Record: r, Mode: Duel, Push: &seen})
	if err != nil || out.Verdict != Accepted {
		w.Fatalf("%+v, %v", out, err)
	}
}

// If a step was applied and its pushes were not delivered, recovery delivers
// them, also at the end of a match.
func TestTheEndIsPushedThoughItsDeliveryFailed(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		in := n.enter(ada)
		p := n.begin(w, 2)
		w.passUntil(p, Open, 1)
		w.commitElsewhere(p, bob, 1)
		n.link.set(func(method, _ string) fault {
			if method == "Read" && w.store.state(p.ID).Phase == Over {
				return fails
			}
			return works
		})
		if err := n.Leave(w.Context(), p.ID, bob); err == nil {
			w.Error("the gap before the end was filled without a read")
		}
		n.link.set(nil)
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		w.checkComplete(p, in, 0)
		if len(n.results()) != 1 {
			w.Errorf("%d results", len(n.results()))
		}
	})
}
