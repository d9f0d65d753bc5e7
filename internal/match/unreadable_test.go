package match

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// unreadableNode returns a node that cannot read any match, as if its form
// differed.
func (w *cluster) unreadableNode() *node {
	n := w.node()
	n.link.set(func(method, _ string) fault {
		if method == "Read" {
			return unreads
		}
		return works
	})
	return n
}

// Players of a match that a node cannot read count as not playing at that node.
// The match continues at other nodes.
func TestAnUnreadableMatchCountsAsNone(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.unreadableNode()
		in := a.enter(ada)
		p := a.begin(w, 2)
		w.passUntil(p, Open, 0)
		if r, err := b.Status(w.Context(), p.ID); err != nil || r.Running {
			w.Errorf("%+v, %v", r, err)
		}
		if err := b.CheckSeat(w.Context(), p.ID, ada); !errors.Is(err, ErrNotFound) {
			w.Errorf("%v", err)
		}
		if _, err := b.answer(p, ada, 0, rightAnswer(&p.Questions[0])); codeOf(err) != "not_in_match" {
			w.Errorf("an answer: %v", err)
		}
		if n := testutil.ToFloat64(b.metrics.unreadable.WithLabelValues(OlderForm)); n != 3 {
			w.Errorf("counted %v times", n)
		}
		w.passUntil(p, Over, 1)
		w.checkComplete(p, in, 0)
	})
}

// A text that is not a match id is not looked up in the store.
func TestAMalformedIDIsNotFound(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		n.link.recordReads()
		for _, id := range []string{"", "m_1:lock:0:p_ada", "m_1:plan", "m{2}", string(make([]byte, 65))} {
			p := newPlan(id, now(), 1)
			if _, err := n.answer(p, ada, 0, rightAnswer(&p.Questions[0])); codeOf(err) != "not_in_match" {
				w.Errorf("an answer to %q: %v", id, err)
			}
			if err := n.Attach(w.Context(), Attachment{Match: id, Player: ada, Sub: n.enter(ada)}); !errors.Is(err, ErrNotFound) {
				w.Errorf("a sync of %q: %v", id, err)
			}
		}
		if reads := n.link.recordReads(); len(reads) > 0 {
			w.Errorf("the store was asked: %+v", reads)
		}
	})
}

// A match that no live node can read is removed after a minute, not before.
func TestAnUnreadableMatchIsRemovedInTheEnd(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.unreadableNode()
		a.enter(ada)
		p := a.begin(w, 2)
		w.passUntil(p, Open, 0)
		a.kill()
		time.Sleep(time.Minute)
		if w.store.copyOf(p.ID) == nil {
			w.Error("it is removed too early")
		}
		time.Sleep(30 * time.Second)
		if _, err := w.store.Read(w.Context(), ReadQuery{Match: p.ID, After: -1}); !errors.Is(err, ErrNotFound) {
			w.Errorf("it is still there: %v", err)
		}
		if n := testutil.ToFloat64(b.metrics.removedOrphans); n != 1 {
			w.Errorf("counted %v times", n)
		}
		time.Sleep(2 * time.Second)
		if len(b.unreadable.sweeps) > 0 {
			w.Error("the node still remembers it")
		}
	})
}

// A node that can read the match returns within the minute. The match
// continues.
func TestAnUnreadableMatchGoesOnWhenANodeCanReadIt(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a := w.node()
		w.unreadableNode()
		a.enter(ada)
		p := a.begin(w, 2)
		w.passUntil(p, Open, 0)
		a.kill()
		time.Sleep(50 * time.Second)
		w.node()
		w.passUntil(p, Over, 1)
		if _, settles := w.store.result(p.ID); !settles {
			w.Error("it has no result")
		}
	})
}
