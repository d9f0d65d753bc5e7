package players

import (
	"strings"
	"testing"
)

func threeRuns() *Report {
	r := NewReport("bench example, 3 runs")
	t := r.Table("kind", "answers/s", "p99 µs")
	for _, rate := range []float64{300, 100, 200} {
		t.Add("floor", 2*rate, rate/1600)
		t.Add("laststand", rate, rate/100)
	}
	return r
}

// The text has the medians of each row, aligned, and names the machine.
func TestTextShowsMedians(t *testing.T) {
	t.Parallel()
	text := threeRuns().String()
	want := "kind       answers/s  p99 µs\n" +
		"floor            400   0.125\n" +
		"laststand        200       2\n"
	if !strings.HasSuffix(text, want) || !strings.Contains(text, "machine: ") {
		t.Errorf("%s\nwant %s", text, want)
	}
}
