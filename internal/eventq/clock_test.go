package eventq

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClockThatJumps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		jump time.Duration
		want Counts
	}{
		"forward a little": {30 * time.Second, Counts{Offered: 20, Sent: 20}},
		"forward an hour":  {time.Hour, Counts{Offered: 20, Sent: 10, Dropped: map[Reason]int64{TooOld: 10}}},
		"back a little":    {-2 * time.Second, Counts{Offered: 20, Sent: 20}},
		"back an hour":     {-time.Hour, Counts{Offered: 20, Sent: 10, Dropped: map[Reason]int64{Future: 10}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newCluster(t, policyOf("a"))
				n := w.start("n")
				defer n.stop()
				n.offer("a", 0, 10)
				time.Sleep(500 * time.Millisecond)
				w.shift.Store(c.jump.Milliseconds())
				time.Sleep(2 * time.Minute)
				n.offer("a", 10, 10)
				w.set(func() { clear(w.calls) })
				time.Sleep(5 * time.Second)
				w.want("a", c.want)
				w.set(func() {
					if w.calls["due"] > 6*5*partitions+10 || w.calls["take"] > 10 {
						t.Errorf("it spins: %v", w.calls)
					}
				})
			})
		})
	}
}
