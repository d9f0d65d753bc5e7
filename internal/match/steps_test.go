package match

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// openedDuel is a duel over two nodes whose first question is open.
type openedDuel struct {
	*Plan
	taker, other *node  // the one that has opened it
	here, there  string // who plays at taker, and at other
}

// open begins such a duel; news between the nodes takes so long from the start.
func (w *cluster) open(questions int, news time.Duration) openedDuel {
	w.Helper()
	w.mail.set(func(string) (int, time.Duration) { return 1, news })
	a, b := w.node(), w.node()
	a.enter(ada)
	b.enter(bob)
	p := a.begin(w, questions)
	w.must(b.AttachSession(w.Context(), "demo", p.ID, bob))
	w.passUntil(p, Open, 0)
	if testutil.ToFloat64(a.metrics.steps.WithLabelValues(string(Open), "taken")) > 0 {
		return openedDuel{p, a, b, ada, bob}
	}
	return openedDuel{p, b, a, bob, ada}
}

// moves says whether what a match is at has moved on so long after its deadline.
func (w *cluster) moves(p *Plan, afterMS int64) bool {
	was := w.store.state(p.ID)
	time.Sleep(time.Duration(was.DueAt+afterMS-now()) * time.Millisecond)
	synctest.Wait()
	return w.store.state(p.ID).Version != was.Version
}

// A step is left to who took the last only for a while.
func TestAStepIsNotLeftForLong(t *testing.T) {
	inBubble(t, func(w *cluster) {
		o := w.open(1, 0)
		o.taker.kill()
		if !w.moves(o.Plan, lateMS) {
			w.Errorf("%d ms after it was due nobody has taken the step", lateMS)
		}
	})
}

// An answer is no step: that another node has accepted one holds up nobody.
func TestAnAnswerAtAnotherNodeLeavesNoStep(t *testing.T) {
	inBubble(t, func(w *cluster) {
		o := w.open(1, 0)
		w.answerUntilAccepted(o.Plan, o.other, o.there, 0)
		if !w.moves(o.Plan, remoteStepGraceMS-20) {
			w.Error("both have left the step to each other")
		}
	})
}

// Nor does news of a step that comes behind one that was taken here since.
func TestLateStepEventsLeaveNoStep(t *testing.T) {
	inBubble(t, func(w *cluster) {
		o := w.open(2, 2*time.Second)
		w.answerUntilAccepted(o.Plan, o.taker, o.here, 0)
		w.answerUntilAccepted(o.Plan, o.other, o.there, 0)
		if s := w.store.state(o.ID); s.Phase != Revealed {
			w.Fatalf("it is at %+v", s)
		}
		if !w.moves(o.Plan, remoteStepGraceMS-20) {
			w.Error("both have left the step to each other")
		}
	})
}
