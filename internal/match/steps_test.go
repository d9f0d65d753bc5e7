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
	taker, other *node  // the node that opened it
	here, there  string // the players at taker and at other
}

// open starts such a duel. From then on messages between the nodes have this
// delay.
func (w *cluster) open(questions int, delay time.Duration) openedDuel {
	w.Helper()
	w.bus.set(func(string) (int, time.Duration) { return 1, delay })
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

// moves reports whether the match has progressed this long after its deadline.
func (w *cluster) moves(p *Plan, afterMS int64) bool {
	was := w.store.state(p.ID)
	time.Sleep(time.Duration(was.DueAt+afterMS-now()) * time.Millisecond)
	synctest.Wait()
	return w.store.state(p.ID).Version != was.Version
}

// A step is left to the node of the last one only for a short time.
func TestAStepIsNotLeftForLong(t *testing.T) {
	inBubble(t, func(w *cluster) {
		o := w.open(1, 0)
		o.taker.kill()
		if !w.moves(o.Plan, lateMS) {
			w.Errorf("%d ms after it was due nobody has taken the step", lateMS)
		}
	})
}

// An answer is not a step. An answer accepted at another node delays no step
// here.
func TestAnAnswerAtAnotherNodeLeavesNoStep(t *testing.T) {
	inBubble(t, func(w *cluster) {
		o := w.open(1, 0)
		w.answerUntilAccepted(o.Plan, o.other, o.there, 0)
		if !w.moves(o.Plan, remoteStepGraceMS-20) {
			w.Error("both have left the step to each other")
		}
	})
}

// A late message about an older step delays no step here either.
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
