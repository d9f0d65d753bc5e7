package stress

import (
	"strings"
	"testing"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// A server that is larger than before is reported.
func TestALargerServerIsReported(t *testing.T) {
	t.Parallel()
	before := size{"MB of memory": 100, "goroutines": 50, "connections": 10, "open files": 40}
	for want, now := range map[string]size{
		"":               {"MB of memory": 164, "goroutines": 110, "connections": 30, "open files": 190},
		"MB of memory":   {"MB of memory": 165},
		"111 goroutines": {"goroutines": 111},
		"31 connections": {"connections": 31},
		"191 open files": {"open files": 191},
	} {
		if got := strings.Join(now.excess(before, 64), "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%+v: %q", now, got)
		}
	}
}

// Slow phases, refused honest players and a large server are reported.
func TestSlowPhasesAreReported(t *testing.T) {
	t.Parallel()
	answers := func(ms float64) map[string]players.Quantiles {
		return map[string]players.Quantiles{players.Answer: {P99: ms}}
	}
	for want, p := range map[string]phase{
		"":                  {control: answers(20)},
		"p99 of answer 21.": {control: answers(21)},
		"3 honest reads":    {shed: 3},
		"513 MB in use":     {most: size{"MB of memory": 513}},
	} {
		if got := strings.Join(p.faults(phase{control: answers(10)}, 15, 512), "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%+v: %q", p, got)
		}
	}
}

// Each refusal that the server must count has a metric.
func TestRefusalsHaveMetrics(t *testing.T) {
	t.Parallel()
	for refusal, want := range map[string]string{
		"http 429": `laststand_http_requests_total code="429"`, "http 414": `laststand_http_oversized_requests_total reason="url"`,
		"close 4401": `laststand_ws_closes_total code="4401"`, "error rate_limited": `laststand_ws_refusals_total code="rate_limited"`,
		"upgrade 403": `laststand_ws_refusals_total code="upgrade"`, "cut": " ", "bare 431": " ",
	} {
		name, labels := metricOf(refusal)
		if got := name + " " + strings.Join(labels, ","); got != want {
			t.Errorf("%s: %q, want %q", refusal, got, want)
		}
	}
}

// All kinds together get twice the rate of one kind, and slow kinds get more time.
func TestOrdersShareTheRate(t *testing.T) {
	t.Parallel()
	r := &attacked{
		Hostile: &Hostile{PerSecond: 400, Each: 8, All: 20, Slow: 15, HostileScale: HostileScale{Addresses: 300}},
		run:     &run{group: new(players.Group), Nodes: &testenv.Nodes{All: []*testenv.Node{new(testenv.Node)}}},
	}
	if o := r.order("frames", 1); o.PerSecond != 400 || o.For != 8 || o.Addresses != 300 {
		t.Errorf("%+v", o)
	}
	if o := r.order("half-open", len(AttackKinds())); o.PerSecond != 800./15 || o.For != 20 {
		t.Errorf("%+v", o)
	}
	if o := r.order("slow-readers", 1); o.For != 15 {
		t.Errorf("%+v", o)
	}
}
