package match

import (
	"testing"
	"time"
)

// A node's clock is 9.5 s behind the clock of the node that opens the
// questions. Its player earns no speed points by that, and the reply shows it.
func TestAClockThatIsBehindEarnsNoSpeedPoints(t *testing.T) {
	inBubble(t, func(w *cluster) {
		ahead, behind := w.nodeAhead(9500*time.Millisecond), w.node()
		ahead.enter(ada)
		in := behind.enter(bob)
		p := newPlan("m_1", ahead.Now()+3000, 2)
		w.must(ahead.Start(w.Context(), p))
		w.must(behind.AttachSession(w.Context(), "demo", p.ID, bob))
		w.passUntil(p, Open, 0)
		time.Sleep(1500 * time.Millisecond)
		got, err := behind.answer(p, bob, 0, rightAnswer(&p.Questions[0]))
		if err != nil || got.ElapsedMS != p.LimitMS {
			w.Fatalf("%+v, %v", got, err)
		}
		w.passUntil(p, Revealed, 0)
		for _, r := range in.last(w, "question.closed").Data.Results {
			if r.Player == bob && (r.Points != 100 || *r.ElapsedMS != p.LimitMS) {
				w.Errorf("%+v", r)
			}
		}
	})
}
