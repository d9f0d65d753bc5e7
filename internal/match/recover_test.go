package match

import (
	"testing"
	"testing/synctest"
	"time"
)

// play answers every question right for both players at their nodes, and
// retries until the store accepts.
func (w *cluster) play(p *Plan, a, b *node) {
	w.Helper()
	for i := range p.Questions {
		w.passUntil(p, Open, i)
		for player, n := range map[string]*node{ada: a, bob: b} {
			w.answerUntilAccepted(p, n, player, i)
		}
	}
	w.passUntil(p, Over, len(p.Questions)-1)
}

// answerUntilAccepted sends an answer until it is accepted, like a client.
func (w *cluster) answerUntilAccepted(p *Plan, n *node, player string, question int) {
	w.Helper()
	for range 100 {
		_, err := n.answer(p, player, question, rightAnswer(&p.Questions[question]))
		if err == nil {
			return
		}
		if codeOf(err) != "failed" {
			w.Fatalf("question %d of %s: %v", question, player, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.Fatalf("question %d of %s was never accepted", question, player)
}

// checkAllComplete checks that a match was played to its end with all answers.
func (w *cluster) checkAllComplete(p *Plan, all ...*frameRecorder) {
	w.Helper()
	r, ok := w.store.result(p.ID)
	if !ok || r.Questions != len(p.Questions) || r.Reason != Finished {
		w.Fatalf("%v, %+v", ok, r)
	}
	for _, s := range r.Standings {
		if s.Correct != len(p.Questions) || s.Answered != len(p.Questions) {
			w.Errorf("%+v", s)
		}
	}
	for _, in := range all {
		w.checkComplete(p, in, 0)
	}
	w.checkStepsAppliedOnce()
}

// Two nodes compete for each step of a match. One applies it, and both players
// see everything.
func TestTwoNodesPlayOneMatch(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		inA, inB := a.enter(ada), b.enter(bob)
		p := a.begin(w, 10)
		if err := b.AttachSession(w.Context(), "demo", p.ID, bob); err != nil {
			w.Fatal(err)
		}
		w.play(p, a, b)
		time.Sleep(1100 * time.Millisecond) // one recovery round
		synctest.Wait()
		w.checkAllComplete(p, inA, inB)
		if all := len(a.results()) + len(b.results()); all != 1 {
			w.Errorf("%d nodes were told of the result", all)
		}
	})
}

// The pushes of another node arrive within a second, from the log.
func TestAGapIsFilledWithinASecond(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		a.enter(ada)
		inB := b.enter(bob)
		p := a.begin(w, 1)
		if err := b.AttachSession(w.Context(), "demo", p.ID, bob); err != nil {
			w.Fatal(err)
		}
		w.passUntil(p, Open, 0)
		time.Sleep(1500 * time.Millisecond) // both nodes know that it is open
		if _, err := a.answer(p, ada, 0, rightAnswer(&p.Questions[0])); err != nil {
			w.Fatal(err)
		}
		time.Sleep(1010 * time.Millisecond)
		synctest.Wait()
		if seen := inB.last(w, "answer.seen").Data; seen.Player != ada {
			w.Errorf("%+v", seen)
		}
		w.checkComplete(p, inB, 0)
	})
}

// A node dies in any phase. Another node, which never had a player of the
// match, continues it within 3 s. Players who move there see everything.
func TestANodeDies(t *testing.T) {
	t.Parallel()
	for _, phase := range []Phase{Countdown, Open, Revealed} {
		t.Run(string(phase), func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				a, b := w.node(), w.node()
				inA := a.enter(ada)
				p := a.begin(w, 3)
				question := map[Phase]int{Countdown: -1}[phase]
				w.passUntil(p, phase, question)
				a.kill()
				before := inA.read(w)
				due := w.store.state(p.ID).DueAt
				time.Sleep(time.Duration(due-now()+3000) * time.Millisecond)
				if s := w.store.state(p.ID); s.Phase == phase && s.Question == question && !s.Extended {
					w.Fatalf("3 s after it was due it still is at %+v", s)
				}
				last := before[len(before)-1].Seq
				inB := b.enter(ada)
				if err := b.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: inB, After: last}); err != nil {
					w.Fatal(err)
				}
				w.passUntil(p, Over, 2)
				w.checkComplete(p, inB, last)
				w.checkStepsAppliedOnce()
				if len(b.results()) != 1 {
					w.Errorf("%d results", len(b.results()))
				}
			})
		})
	}
}

// The node dies after the last answer and before the close. The close is due at
// once.
func TestANodeDiesBeforeTheClose(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		p := a.begin(w, 2)
		w.passUntil(p, Open, 0)
		for _, player := range []string{ada, bob} {
			_, _, err := a.Answer(w.Context(), Submission{Player: player, At: now(), Answer: answerTo(p, 0, rightAnswer(&p.Questions[0]))})
			if err != nil {
				w.Fatal(err)
			}
		}
		a.kill()
		time.Sleep(2500 * time.Millisecond)
		if s := w.store.state(p.ID); s.Phase != Revealed || s.CloseReason != allAnswered {
			w.Errorf("%+v", s)
		}
		if matches, _ := b.countHeld(); matches != 1 {
			w.Errorf("b holds %d matches", matches)
		}
	})
}

// A match that cannot be read does not delay those after it.
func TestASweepGoesOnAfterAFault(t *testing.T) {
	inBubble(t, func(w *cluster) {
		dead, n := w.node(), w.node()
		for _, id := range []string{"m_a", "m_b", "m_c"} {
			if err := dead.Start(w.Context(), newPlan(id, now()+1000, 1)); err != nil {
				w.Fatal(err)
			}
		}
		dead.kill()
		n.link.set(func(_, match string) fault {
			if match == "m_a" {
				return fails
			}
			return works
		})
		time.Sleep(4 * time.Second)
		for id, want := range map[string]Phase{"m_a": Countdown, "m_b": Open, "m_c": Open} {
			if got := w.store.state(id).Phase; got != want {
				w.Errorf("%s is %s, want %s", id, got, want)
			}
		}
	})
}

// A match whose keys have expired is removed from the index and from the node's
// memory.
func TestAnExpiredMatchIsForgotten(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		n.enter(ada)
		p := n.begin(w, 1)
		w.store.mu.Lock()
		w.store.matches[p.ID].until = now() + 1
		w.store.mu.Unlock()
		time.Sleep(6 * time.Second)
		if due, err := w.store.ListDue(w.Context(), now()); err != nil || len(due) != 0 {
			w.Errorf("still due: %v, %v", due, err)
		}
		if matches, fed := n.countHeld(); matches != 0 || fed != 0 {
			w.Errorf("%d matches, %d players", matches, fed)
		}
		if n.IsInMatch("demo", ada) {
			w.Error("still seated")
		}
	})
}

func TestCheckOverload(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		n.MaxUnsettled = 1
		p := n.begin(w, 1)
		if err := n.CheckOverload(); err != nil {
			w.Error(err)
		}
		w.passUntil(p, Over, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		if err := n.CheckOverload(); err != ErrOverloaded { //nolint:errorlint // it is not wrapped
			w.Errorf("%v with a result that waits", err)
		}
		if waits, err := n.IsUnsettled(w.Context(), p.ID); err != nil || !waits {
			w.Errorf("unsettled: %v, %v", waits, err)
		}
		time.Sleep(10 * time.Minute) // the match itself has expired
		if waits, err := n.IsUnsettled(w.Context(), p.ID); err != nil || !waits {
			w.Errorf("unsettled, long after: %v, %v", waits, err)
		}
		w.store.mu.Lock()
		delete(w.store.pending, p.ID)
		w.store.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if err := n.CheckOverload(); err != nil {
			w.Error(err)
		}
	})
}
