package stats

import (
	"testing"
	"time"
)

// The merged data of several processes equals the data of one process that saw everything.
func TestMerge(t *testing.T) {
	t.Parallel()
	series := NewSeries(time.Second)
	for process := range 4 {
		var seen Recorder
		for ms := range 250 {
			seen.Add(Answer, time.Duration(1+ms*4+process)*time.Millisecond)
		}
		seen.Count("answer accepted", 250)
		seen.Add(Connect, 2*time.Hour)
		slice, err := seen.Take()
		if err != nil {
			t.Fatal(err)
		}
		if err := series.Add(series.began.Add(time.Duration(process)*time.Second+600*time.Millisecond), slice); err != nil {
			t.Fatal(err)
		}
		if again, err := seen.Take(); err != nil || len(again.Times) != 0 || len(again.Counts) != 0 {
			t.Errorf("what was taken is there again: %+v, %v", again, err)
		}
	}
	all := series.Between(0, 4)
	q := all.Quantiles(Answer)
	near := func(got, want float64) bool { return got > want*.99 && got < want*1.02 }
	if q.N != 1000 || !near(q.P50, 500) || !near(q.P99, 990) || !near(q.Max, 1000) || all.Counts["answer accepted"] != 1000 {
		t.Errorf("%+v, %v", q, all.Counts)
	}
	if q := all.Quantiles(Connect); q.N != 4 || !near(q.Max, float64(MaxTime.Milliseconds())) {
		t.Errorf("what took longer than is measured counts as %+v", q)
	}
	if some := series.Between(1, 3).Quantiles(Answer); some.N != 500 {
		t.Errorf("of two of four spans: %+v", some)
	}
	if points := series.Points(); len(points) != 4 || points[3].AtS != 3 || points[3].Times[Answer].N != 250 {
		t.Errorf("%+v", points)
	}
}

// A slice that cannot be decoded is an error.
func TestBroken(t *testing.T) {
	t.Parallel()
	var sum Sum
	if err := sum.Add(Slice{Times: map[Kind]string{Answer: "nothing"}}); err == nil {
		t.Error("a histogram of nothing was read")
	}
}
