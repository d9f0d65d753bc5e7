package runner

import (
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"

	"laststand/loadtest/swarm/stats"
)

// reported returns the report of one node over some spans.
func reported() *Report {
	r := &Report{
		Connections: 12, Players: 4, EveryS: 1, Seconds: 4, Times: map[stats.Kind]stats.Quantiles{stats.Answer: {N: 40, P50: 1.5, P99: 12, Max: 80}},
		Counts: map[string]int64{"answer question_closed": 3}, Marks: []Mark{{AtS: 2, What: "the load <begins>"}},
	}
	for n := range 4 {
		r.Points = append(r.Points, stats.Point{AtS: float64(n), Times: map[stats.Kind]stats.Quantiles{stats.Answer: {N: 10, P50: 1, P99: 10, Max: 80}}})
		r.Samples = append(r.Samples, Sample{AtS: float64(n), Nodes: []Use{{Cores: .5, MB: 100, Sessions: 12, Goroutines: 50}}})
	}
	return r
}

// The page contains all results and loads nothing from elsewhere.
func TestPage(t *testing.T) {
	t.Parallel()
	r := reported()
	r.Violations = []string{"m_1 of <script>ada"}
	raw, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, want := range []string{
		"12 connections, of which 4 play", "m_1 of &lt;script&gt;ada", "1 untruths", "answer question_closed", "<td>12.00<td>80.0", `style="fill:#2563eb" class="l">p50<`, "the load &lt;begins&gt;",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "http") {
		t.Error("the page asks for more than itself")
	}
	plots := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1)
	if len(plots) != 6 { // answers in ms and per second, processor, memory, goroutines, sessions
		t.Errorf("there are %d plots", len(plots))
	}
	for _, one := range plots {
		for d := xml.NewDecoder(strings.NewReader(one)); ; {
			if _, err := d.Token(); err == io.EOF { //nolint:errorlint // it is not wrapped
				break
			} else if err != nil {
				t.Fatalf("a plot is no XML: %v: %s", err, one)
			}
		}
		if strings.Contains(one, "NaN") || strings.Contains(one, "Inf") {
			t.Errorf("a plot has no place for a point: %s", one)
		}
	}
}

// The text ends with the verdict and its reasons.
func TestVerdict(t *testing.T) {
	t.Parallel()
	r := reported()
	if !strings.Contains(r.String(), "held      all") || r.Failed() != "" {
		t.Errorf("%s", r)
	}
	r.Violations, r.Omitted = []string{"one"}, 4
	r.Spike = &Spike{Failures: []string{"nobody was turned away"}}
	if r.Failed() != "5 untruths; nobody was turned away" || !strings.Contains(r.String(), "UNTRUE    one\nUNTRUE    and 4 more\nFAILED    5 untruths") {
		t.Errorf("%s", r)
	}
}

// The usage covers only the time under load. It also shows the lowest number of players in
// matches during that time.
func TestUseUnderLoad(t *testing.T) {
	t.Parallel()
	r := reported()
	r.FromS, r.Seconds = 0.5, 2
	for i, playing := range []int64{0, 60, 40, 0} {
		r.Samples[i].Playing = playing
		r.Samples[i].Nodes[0].Cores = float64(playing) / 100
	}
	for _, want := range []string{"0.50 cores (mean)", "in matches 50 players (mean), 40 at least"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("%q is not told:\n%s", want, r)
		}
	}
	r.FromS = 100 // it ended before the load
	if !strings.Contains(r.String(), "in matches 25 players (mean), 0 at least") {
		t.Errorf("%s", r)
	}
}
