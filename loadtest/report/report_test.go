package report_test

import (
	"strings"
	"testing"

	"laststand/internal/testenv"
	"laststand/loadtest/report"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func threeRuns() *report.Report {
	r := report.New("bench example, 3 runs")
	t := r.Table("kind", report.Column{Name: "answers/s"}, report.Column{Name: "p99 µs", Decimals: 1})
	for _, rate := range []float64{300, 100, 200} {
		t.Add("floor", 2*rate, rate/1000)
		t.Add("laststand", rate, rate/100)
	}
	return r
}

// The text has the medians of each row, aligned, and names the machine.
func TestTextShowsMedians(t *testing.T) {
	t.Parallel()
	text := threeRuns().String()
	want := "kind       answers/s  p99 µs\n" +
		"floor            400     0.2\n" +
		"laststand        200     2.0\n"
	if !strings.HasSuffix(text, want) || !strings.Contains(text, "machine: ") {
		t.Errorf("%s\nwant %s", text, want)
	}
}
