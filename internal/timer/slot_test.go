package timer

import (
	"testing"
	"testing/synctest"
	"time"
)

// However many timers a tick has, the library is asked once for each hop of
// theirs, and has one wake-up to do.
func TestATickIsOneEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := new(broken)
		w := brokenWheel(first)
		defer w.Close()
		beats := func() int32 { return int32(w.present().beats.Load()) + 1 }
		var calls tally
		for range 5000 {
			calls.after(w, 100*time.Second)
		}
		if own := first.adds.Load() - beats(); own != 1 {
			t.Errorf("%d entries for 5000 timers of one tick, want 1", own)
		}
		time.Sleep(101 * time.Second)
		synctest.Wait()
		calls.check(t, 5000)
		if own := first.adds.Load() - beats(); own != 3 {
			t.Errorf("%d entries for three hops of one tick, want 3", own)
		}
	})
}
