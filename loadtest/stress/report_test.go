package stress

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"laststand/loadtest/checker"
	"laststand/loadtest/players"
	"laststand/loadtest/stats"
)

// A soak finds a leak. It ignores values that go up and down, or that grew only at the
// start.
func TestASoakFindsLeaks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		heap  func(s float64) float64
		grows bool
	}{
		"flat":             {func(float64) float64 { return 100 }, false},
		"up and down":      {func(s float64) float64 { return 100 + 30*float64(int(s)%20)/20 }, false},
		"a warm start":     {func(s float64) float64 { return min(60+s, 120) }, false},
		"kept for minutes": {func(s float64) float64 { return 100 + 5*min(max(s-300, 0), 60) }, false},
		"a leak":           {func(s float64) float64 { return 100 + s/20 }, true},
	} {
		var all []Sample
		for s := 0.0; s < 1200; s += 4 {
			all = append(all, Sample{AtS: s, Nodes: []Use{{HeapMB: test.heap(s), MB: 200, Goroutines: 1000}}})
		}
		found := checkSoak(all, 0, 1200)
		if grew := len(found.Failures) > 0; grew != test.grows || grew && !strings.Contains(found.Failures[0], "node 1: live heap, MB grew") || len(found.Lines) != 3 {
			t.Errorf("%s: %+v", name, found)
		}
	}
	unseen := func(nodes []Use) []Sample {
		return []Sample{{AtS: 1, Nodes: nodes}, {AtS: 2, Nodes: nodes}, {AtS: 3, Nodes: nodes}}
	}
	for name, all := range map[string][]Sample{"nothing": nil, "no node": unseen(nil), "a node whose metrics were not read": unseen([]Use{{MB: 200}})} {
		if s := checkSoak(all, 0, 3); len(s.Failures) != 1 {
			t.Errorf("a soak of %s: %+v", name, s)
		}
	}
}

// Each limit of a spike is checked.
func TestEachLimitOfASpikeIsChecked(t *testing.T) {
	t.Parallel()
	measured := func(p99 float64) Measurement {
		return Measurement{Quantiles: stats.Quantiles{P99: p99}, Refusals: 5}
	}
	for want, change := range map[string]func(*Spike){
		"":                     func(*Spike) {},
		"p99 of admitted":      func(k *Spike) { k.During = measured(81) },
		"no client was turned": func(k *Spike) { k.During.Refusals = 0 },
		"without a clear code": func(k *Spike) { k.Unclear = 1 },
		"recovered after 11":   func(k *Spike) { k.RecoveredS = 11 },
		"recovered after -1":   func(k *Spike) { k.RecoveredS = -1 },
	} {
		k := Spike{Before: measured(40), During: measured(79), RecoveredS: 10}
		change(&k)
		k.check(25)
		if want == "" && len(k.Failures) > 0 || want != "" && (len(k.Failures) != 1 || !strings.Contains(k.Failures[0], want)) {
			t.Errorf("%q: %q", want, k.Failures)
		}
	}
}

// A spike has recovered after three spans in a row with answers as fast as before and
// without refusals. A measurement has the rate, the refusals and the times of the same
// spans.
func TestRecoveryTakesThreeGoodSpans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &swarm{run: &run{stats: stats.New(time.Second)}, SwarmConfig: SwarmConfig{Slack: time.Millisecond}}
		for n, ms := range []int64{500, 70, 500, 70, 70, 70, 70} {
			s.stats.Add(players.Answer, time.Duration(ms)*time.Millisecond)
			s.stats.Count("answer question_closed", 7)
			if n == 3 {
				s.stats.Count("connect closed 1013", 3)
			}
			s.samples = append(s.samples, Sample{AtS: float64(n) + .5, Nodes: []Use{{Cores: float64(n), LagMS: 8}}})
			time.Sleep(time.Second)
		}
		k := &Spike{Before: Measurement{Quantiles: stats.Quantiles{P99: 40}}}
		if after := s.recoveryTime(k, 0, 7); after != 4 {
			t.Errorf("recovered after %v s", after)
		}
		if after := s.recoveryTime(k, 0, 6); after != -1 {
			t.Errorf("recovered after %v s of too few", after)
		}
		got := s.measured(2, 4)
		if got.Rate != 1 || got.Refusals != 3 || got.N != 2 || !strings.HasPrefix(got.Use, "3.50 cores of the nodes") || !strings.HasSuffix(got.Use, "a lag of 8.0 ms") {
			t.Errorf("%+v", got)
		}
	})
}

// Clear refusals are distinguished from unclear failures, and counted by request and code.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]bool{
		"connect closed 1013": {true, false}, "duel.join overloaded": {true, false}, "board status 503": {true, false}, "answer rate_limited": {true, false},
		"connect failed": {false, true}, "connect timeout": {false, true}, "answer internal": {false, true}, "board status 500": {false, true},
		"answer question_closed": {false, false}, "answer accepted": {false, false}, "matches duel": {false, false},
	} {
		if got := [2]bool{isClearRefusal(name), isUnclearFailure(name)}; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	var k Spike
	k.countRefusals(map[string]int64{"connect closed 1013": 7, "duel.join overloaded": 3, "answer internal": 2, "answer accepted": 900})
	if k.Unclear != 2 || len(k.Refused) != 3 || k.Refused["duel.join overloaded"] != 3 {
		t.Errorf("%+v", k)
	}
	if text := (&Report{Spike: &k}).String(); !strings.Contains(text, "refused: connect closed 1013") {
		t.Errorf("%s", text)
	}
}

// A load at which one client in fifty is refused is sustainable. A load at which one in ten
// is refused is not.
func TestFewRefusalsAreSustainable(t *testing.T) {
	t.Parallel()
	for shed, many := range map[int64]bool{0: false, 20: false, 100: true} {
		if got := (Measurement{Matches: 1000 - shed, Refusals: shed}).hasManyRefusals(); got != many {
			t.Errorf("%d of 1000 refused: many %t", shed, got)
		}
	}
	if (Measurement{}).hasManyRefusals() {
		t.Error("nobody asked, and many were refused")
	}
}

// The text shows the use under load and late questions, and ends with the verdict and its
// reasons.
func TestTheReportEndsWithTheVerdict(t *testing.T) {
	t.Parallel()
	r := &Report{EveryS: 1, FromS: .5, Seconds: 2, Times: map[string]stats.Quantiles{players.Answer: {N: 40, P50: 1.5, P99: 12, Max: 80}}}
	r.LateMS = []int64{1, 2, 2999, 3000, 3001, 9000}
	for i, playing := range []int64{0, 60, 40, 0} {
		r.Samples = append(r.Samples, Sample{AtS: float64(i), Playing: playing, Nodes: []Use{{Cores: float64(playing) / 100, Sessions: 12}}})
	}
	words := strings.Join(strings.Fields(r.String()), " ")
	for _, want := range []string{"node 1 0.50", "under load 50 40", "20.0 answers/s for 2 s", "most 9000 ms; over 3 s: 2", "PASSED"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is missing:\n%s", want, r)
		}
	}
	r.Violations, r.ViolationCount = []string{"one"}, 5
	r.Spike = &Spike{Failures: []string{"no client was turned away"}}
	if r.Failed() != "5 violations; no client was turned away" || !strings.HasSuffix(r.String(), "VIOLATION one\nFAILED    5 violations; no client was turned away\n") {
		t.Errorf("%s", r)
	}
}

// A run that is aborted reports the violations up to then.
func TestAnAbortedRunReportsItsViolations(t *testing.T) {
	t.Parallel()
	found := new(checker.Checker)
	s := &swarm{SwarmConfig: SwarmConfig{For: time.Hour, Seats: 2}, run: &run{checker: found, stats: stats.New(time.Second), cluster: new(cluster)}}
	s.cluster.Log = t.Logf
	ctx, end := context.WithCancel(t.Context())
	s.playing, s.stopPlaying = ctx, end
	end()
	s.group = players.NewGroup(ctx, players.Config{Checker: found, Stats: s.stats})
	found.Violations.Add("m_1 had two firsts")
	r := s.play(ctx)
	for _, want := range []string{"aborted: ", "1 violations", "m_1 had two firsts"} {
		if !strings.Contains(r.Failed()+r.String(), want) {
			t.Errorf("the report lacks %q: %s", want, r)
		}
	}
}
