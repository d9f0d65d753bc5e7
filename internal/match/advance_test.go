package match

import (
	"sync/atomic"
	"testing"
	"time"
)

// A node that gets each step from another node leaves the next one to it. It
// neither reads the match nor tries a step.
func TestTheNodeOfTheLastStepTakesTheNext(t *testing.T) {
	inBubble(t, func(w *cluster) {
		w.bus.set(func(string) (int, time.Duration) { return 1, 5 * time.Millisecond })
		a, b := w.node(), w.node()
		inA, inB := a.enter(ada), b.enter(bob)
		p := a.begin(w, 5)
		if err := b.AttachSession(w.Context(), "demo", p.ID, bob); err != nil {
			w.Fatal(err)
		}
		w.passUntil(p, Open, 0) // both nodes have tried this step
		var tries [2]atomic.Int64
		for i, n := range []*node{a, b} {
			n.link.set(func(method, _ string) fault {
				if method == "Read" || method == "Step" {
					tries[i].Add(1)
				}
				return works
			})
		}
		w.passUntil(p, Over, 4)
		if few := min(tries[0].Load(), tries[1].Load()); few > 0 {
			w.Errorf("one node took the steps, and the other tried %d times", few)
		}
		time.Sleep(time.Second) // wait for the last message
		w.checkComplete(p, inA, 0)
		w.checkComplete(p, inB, 0)
	})
}
