package match

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// The store is unreachable during a question. The lost time is given back once,
// and only if there is no answer.
func TestAnOutageWithinAQuestion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers bool
		outages int
		want    int
	}{
		"nobody has answered":       {false, 1, 1},
		"somebody has":              {true, 1, 0},
		"given back once":           {false, 2, 1},
		"none":                      {false, 0, 0},
		"two of them, one answered": {true, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				a, b := w.node(), w.node()
				in, other := a.enter(ada), b.enter(bob)
				p := a.begin(w, 1)
				w.must(b.AttachSession(w.Context(), "demo", p.ID, bob))
				w.passUntil(p, Open, 0)
				if c.answers {
					if _, err := a.answer(p, ada, 0, wrongAnswer(&p.Questions[0])); err != nil {
						w.Fatal(err)
					}
				}
				closes := w.store.state(p.ID).ClosesAt
				for range c.outages {
					w.cutStore(2500*time.Millisecond, a, b)
					time.Sleep(1100 * time.Millisecond)
				}
				given := w.store.state(p.ID).ClosesAt - closes
				if n := in.count(w, protocol.TypeQuestionExtended); n != c.want || (given > 0) != (n > 0) {
					w.Errorf("%d ms given, told %d times", given, n)
				}
				if c.want > 0 && (given < 2500 || given > 4500) {
					w.Errorf("%d ms given for 2500", given)
				}
				w.checkExtendedJudgement(p, b, given)
				w.passUntil(p, Over, 0)
				synctest.Wait()
				w.checkComplete(p, in, 0)
				w.checkComplete(p, other, 0)
			})
		})
	}
}

// cutStore disconnects nodes from the store for a while.
func (w *cluster) cutStore(d time.Duration, nodes ...*node) {
	for _, n := range nodes {
		n.link.set(func(string, string) fault { return fails })
	}
	time.Sleep(d)
	for _, n := range nodes {
		n.link.set(nil)
	}
}

// checkExtendedJudgement answers during the extension. The answer is in time,
// and its time counts as the limit.
func (w *cluster) checkExtendedJudgement(p *Plan, n *node, given int64) {
	w.Helper()
	if given == 0 {
		return
	}
	s := w.store.state(p.ID)
	time.Sleep(time.Duration(s.ClosesAt-now()) * time.Millisecond)
	reply, err := n.answer(p, bob, 0, rightAnswer(&p.Questions[0]))
	if err != nil || reply.ElapsedMS != p.LimitMS+given {
		w.Fatalf("%+v, %v", reply, err)
	}
	w.passUntil(p, Over, 0)
	if r, _ := w.store.result(p.ID); r.Standings[0].Player != bob || r.Standings[0].Score != 100 || r.Standings[0].TimeMS != p.LimitMS {
		w.Errorf("%+v", r.Standings)
	}
}

// The node of a question dies. The node that takes over extends the question
// and pushes that within 3 s.
func TestALateSealGivesTheTimeBack(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		a.enter(ada)
		p := a.begin(w, 1)
		w.passUntil(p, Open, 0)
		a.kill()
		closes := w.store.state(p.ID).ClosesAt
		for now() < closes+5000 && !w.store.state(p.ID).Extended {
			time.Sleep(10 * time.Millisecond)
		}
		s := w.store.state(p.ID)
		if late := now() - closes; late > 3000 || s.ClosesAt < now()+1000 || s.ClosesAt > now()+3000 {
			w.Errorf("%d ms late, closes in %d", late, s.ClosesAt-now())
		}
		in := b.enter(ada)
		w.must(b.Attach(w.Context(), Attachment{Match: p.ID, Player: ada, Sub: in}))
		w.passUntil(p, Over, 0)
		w.checkComplete(p, in, 0)
		if n := in.count(w, protocol.TypeQuestionExtended); n != 1 {
			w.Errorf("extended %d times", n)
		}
	})
}

// Many matches are extended at the same time, by a slow store.
func TestAnOutageOfManyMatches(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		for i := range 500 {
			w.must(n.Start(w.Context(), newPlan(fmt.Sprint("m_", i), now()+1000, 1)))
		}
		time.Sleep(4 * time.Second) // there are no sessions: a sweep opens the questions
		w.cutStore(3*time.Second, n)
		n.link.set(func(string, string) fault {
			time.Sleep(10 * time.Millisecond)
			return works
		})
		time.Sleep(2500 * time.Millisecond)
		given := 0
		for _, l := range n.runningMatches() {
			if w.store.state(l.plan.ID).Extended {
				given++
			}
		}
		if given != 500 {
			w.Errorf("%d of 500 were given their time", given)
		}
	})
}

// A node that read a question before its extension does not seal it at the
// former end.
func TestAnExtendedQuestionIsNotSealedByAnOldRead(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a := w.node()
		a.enter(ada)
		p := a.begin(w, 1)
		w.passUntil(p, Open, 0)
		before, err := w.store.Read(w.Context(), ReadQuery{Match: p.ID, Players: p.players(), After: -1})
		w.must(err)
		extension := extendStep(p, before, 2000, now())
		extension.ID = "one"
		given, err := w.store.Step(w.Context(), extension)
		w.must(err)
		late, due := nextStep(p, before, before.DueAt, 0)
		late.ID = "other"
		if !given.Applied || !due || late.To.Phase != Sealed {
			w.Fatalf("given %v, due %v: %+v", given.Applied, due, late)
		}
		sealed, err := w.store.Step(w.Context(), late)
		w.must(err)
		if sealed.Applied {
			w.Error("it was sealed at its former end")
		}
	})
}
