package match

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// stall blocks every store call of a node until the returned function is
// called. Then the calls continue, late.
func (n *node) stall() (resume func()) {
	held := make(chan struct{})
	n.link.set(func(string, string) fault {
		<-held
		return works
	})
	return sync.OnceFunc(func() {
		n.link.set(nil)
		close(held)
	})
}

// A node stalls during a match and continues later. Other nodes have continued
// the match. The late steps lose, and its sessions see everything.
func TestAStalledNodeGoesOn(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Buzzer, Survival} {
		for _, phase := range []Phase{Countdown, Open, Revealed} {
			t.Run(string(mode)+" "+string(phase), func(t *testing.T) {
				inBubble(t, func(w *cluster) {
					a, b := w.node(), w.node()
					p := newArena(mode, 3)
					in := w.gather(p, 4, a, b)
					w.must(a.StartArena(w.Context(), p.ID))
					w.passUntil(p, phase, map[Phase]int{Countdown: -1}[phase])
					time.Sleep(200 * time.Millisecond)
					goOn := a.stall()
					due := w.store.state(p.ID).DueAt
					time.Sleep(time.Duration(due-now()) * time.Millisecond)
					before := w.store.state(p.ID)
					time.Sleep(3 * time.Second)
					if s := w.store.state(p.ID); s.Version == before.Version {
						w.Errorf("3 s after it was due it still is at %+v", s)
					}
					time.Sleep(9 * time.Second)
					goOn()
					w.passUntil(p, Over, w.lastOf(p))
					time.Sleep(1100 * time.Millisecond)
					synctest.Wait()
					w.checkStepsAppliedOnce()
					for _, one := range in {
						w.checkComplete(p, one, 0)
					}
					if all := len(a.results()) + len(b.results()); all != 1 {
						w.Errorf("%d results", all)
					}
				})
			})
		}
	}
}

// lastOf waits for the end of a match and returns its last question.
func (w *cluster) lastOf(p *Plan) int {
	w.Helper()
	for range 60_000 {
		if s := w.store.state(p.ID); s.Phase == Over {
			return s.Question
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.Fatalf("%s never ends: %+v", p.ID, w.store.state(p.ID))
	return 0
}

// A node dies after a step and before its pushes. Sessions at other nodes get
// them within a second.
func TestANodeDiesBetweenStepAndPush(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{Countdown, Open, Revealed} {
		t.Run(string(phase), func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				a, b := w.node(), w.node()
				p := newArena(Buzzer, 2)
				in := w.gather(p, 4, a, b)
				w.must(a.StartArena(w.Context(), p.ID))
				w.passUntil(p, phase, map[Phase]int{Countdown: -1}[phase])
				resume := b.stall() // so that node a applies the step
				a.link.set(func(method, _ string) fault {
					if method == "Step" {
						return loses
					}
					return works
				})
				before := w.store.state(p.ID)
				for s := before; s.Phase == before.Phase; s = w.store.state(p.ID) {
					time.Sleep(5 * time.Millisecond)
				}
				a.kill()
				resume()
				time.Sleep(1100 * time.Millisecond)
				synctest.Wait()
				w.checkComplete(p, in[1], 0)
				w.passUntil(p, Over, 1)
				synctest.Wait()
				w.checkComplete(p, in[1], 0)
				w.checkComplete(p, in[3], 0)
				w.checkStepsAppliedOnce()
			})
		})
	}
}

// All nodes get the same request at the same time. It is applied once.
func TestTwoNodesAreAskedForTheSame(t *testing.T) {
	inBubble(t, func(w *cluster) {
		nodes := []*node{w.node(), w.node(), w.node()}
		p := newArena(Buzzer, 2)
		p.Arena.HostPaced = true
		in := w.gather(p, 3, nodes...)
		ask := func(request func(n *node) error) {
			var all sync.WaitGroup
			for _, n := range append(nodes, nodes...) {
				all.Go(func() { w.must(request(n)) })
			}
			all.Wait()
			synctest.Wait()
		}
		ask(func(n *node) error { return n.StartArena(w.Context(), p.ID) })
		if s := w.store.state(p.ID); s.Phase != Countdown {
			w.Fatalf("%+v", s)
		}
		time.Sleep(4 * time.Second)
		for question := range p.Questions {
			ask(func(n *node) error { return n.Proceed(w.Context(), p.ID, question-1) })
			if s := w.store.state(p.ID); s.Phase != Open || s.Question != question {
				w.Fatalf("%+v", s)
			}
			w.must(nodes[question].Proceed(w.Context(), p.ID, question))
		}
		ask(func(n *node) error { return n.CloseArena(w.Context(), p.ID) })
		if s := w.store.state(p.ID); s.Phase != Over {
			w.Fatalf("%+v", s)
		}
		for _, one := range in {
			w.checkComplete(p, one, 0)
		}
		w.checkStepsAppliedOnce()
	})
}

// The clock of a node is a second ahead or behind. The match continues for
// everyone, and nothing is applied twice or skipped.
func TestAClockThatIsOff(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"ahead": time.Second, "behind": -time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				off, b := w.nodeAhead(ahead), w.node()
				p := newArena(Survival, 4)
				in := w.gather(p, 6, off, b)
				w.must(b.StartArena(w.Context(), p.ID))
				for q := range p.Questions {
					w.passUntil(p, Open, q)
					for i := range in {
						n := []*node{off, b}[i%2]
						_, then, err := n.Answer(w.Context(), Submission{
							Player: p.seatOf(i).Player, At: n.Now(), Answer: answerTo(p, q, rightAnswer(&p.Questions[q])),
						})
						if then(); err != nil {
							w.Fatalf("question %d of player %d: %v", q, i, err)
						}
					}
				}
				w.passUntil(p, Over, 3)
				time.Sleep(2100 * time.Millisecond)
				synctest.Wait()
				w.checkStepsAppliedOnce()
				for _, one := range in {
					w.checkComplete(p, one, 0)
				}
				for _, f := range in[0].read(w) {
					if f.Type == protocol.TypeQuestionClosed && (f.Data.Reason != allAnswered || f.Data.Right != 6) {
						w.Errorf("%+v", f.Data)
					}
				}
			})
		})
	}
}

// losingStore is a store in which other nodes apply every step first.
type losingStore struct{ *faultyStore }

func (losingStore) Step(context.Context, Step) (StepResult, error) { return StepResult{}, nil }

// A call that loses every step ends with an error.
func TestStepsOfOneCallAreBounded(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := newArena(Buzzer, 1)
		w.gather(p, 1, n)
		reads := 0
		n.link.set(func(method, _ string) fault {
			if method == "Read" {
				reads++
			}
			return works
		})
		n.Store = losingStore{n.link}
		var refused *protocol.Error
		if err := n.StartArena(w.Context(), p.ID); !errors.As(err, &refused) || refused.Code != protocol.CodeUnavailable || reads != maxSteps {
			w.Errorf("%v after %d reads", err, reads)
		}
		n.Store = n.link
		w.must(n.StartArena(w.Context(), p.ID))
		if known, is := n.findLocal(p.ID).knownState().Version, w.store.state(p.ID).Version; known != is {
			w.Errorf("it knows of version %d, the match is at %d", known, is)
		}
	})
}
