package ws

import (
	"testing"
	"testing/synctest"
	"time"
)

// Calls within a tenth of the limit share a context, which ends within the limit. A
// call with a shorter limit gets another one.
func TestSharedDeadlinesEndInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shared sharedDeadline
		first, startedAt := shared.context(10*time.Second), time.Now()
		time.Sleep(time.Second)
		if shared.context(10*time.Second) != first {
			t.Error("calls within a tenth of the limit got different contexts")
		}
		time.Sleep(time.Nanosecond)
		second := shared.context(10 * time.Second)
		if until, _ := second.Deadline(); second == first || time.Until(until) != 10*time.Second {
			t.Errorf("the second context ends in %v", time.Until(until))
		}
		if until, _ := shared.context(2 * time.Second).Deadline(); time.Until(until) != 2*time.Second {
			t.Errorf("the context with the shorter limit ends in %v", time.Until(until))
		}
		<-first.Done()
		if elapsed := time.Since(startedAt); elapsed != 10*time.Second || second.Err() != nil {
			t.Errorf("the first context lasted %v; error of the second: %v", elapsed, second.Err())
		}
	})
}
