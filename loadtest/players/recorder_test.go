package players

import (
	"testing"
	"testing/synctest"
	"time"
)

// A recorder sums up any of its spans.
func TestSpansAreSummedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewRecorder(time.Second)
		for span := range 4 {
			for ms := range 250 {
				r.Add("answer", time.Duration(1+ms*4+span)*time.Millisecond)
			}
			r.Count("answer accepted", 250)
			r.Add("connect", 2*time.Hour)
			if r.Span() != span {
				t.Errorf("span %d, want %d", r.Span(), span)
			}
			time.Sleep(time.Second)
		}
		all := r.All()
		q := all.Quantiles("answer")
		near := func(got, want float64) bool { return got > want*.99 && got < want*1.02 }
		if q.N != 1000 || !near(q.P50, 500) || !near(q.P99, 990) || !near(q.Max, 1000) || all.Counts["answer accepted"] != 1000 {
			t.Errorf("%+v, %v", q, all.Counts)
		}
		if q := all.All()["connect"]; q.N != 4 || !near(q.Max, float64(maxDuration.Milliseconds())) {
			t.Errorf("durations over a minute count as %+v", q)
		}
		if some := r.Between(1, 3).Quantiles("answer"); some.N != 500 {
			t.Errorf("two of four spans: %+v", some)
		}
		if taken := r.Take(); taken.Quantiles("answer").N != 1000 || r.All().Quantiles("answer").N != 0 {
			t.Error("Take does not take everything")
		}
	})
}
