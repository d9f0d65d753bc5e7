package swarm

import (
	"encoding/json"
	"errors"
	"io"
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
	good := Spike{Before: stats.Quantiles{P99: 40}, During: stats.Quantiles{P99: 79}, Shed: 5, RecoveredS: 10}
	for want, change := range map[string]func(*Spike){
		"":                     func(*Spike) {},
		"p99 of admitted":      func(k *Spike) { k.During.P99 = 81 },
		"no client was turned": func(k *Spike) { k.Shed = 0 },
		"without a clear code": func(k *Spike) { k.Unclear = 1 },
		"recovered after 11":   func(k *Spike) { k.RecoveredS = 11 },
		"recovered after -1":   func(k *Spike) { k.RecoveredS = -1 },
	} {
		k := good
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
		s := &swarm{stats: stats.New(time.Second), Config: Config{Slack: time.Millisecond}}
		for n, ms := range []int64{500, 70, 500, 70, 70, 70, 70} {
			s.stats.Add(players.Answer, time.Duration(ms)*time.Millisecond)
			s.stats.Count("answer question_closed", 7)
			if n == 3 {
				s.stats.Count("connect closed 1013", 3)
			}
			s.samples = append(s.samples, Sample{AtS: float64(n) + .5, Nodes: []Use{{Cores: float64(n), LagMS: 8}}})
			time.Sleep(time.Second)
		}
		k := &Spike{Before: stats.Quantiles{P99: 40}}
		if after := s.recoveryTime(k, 0, 7); after != 4 {
			t.Errorf("recovered after %v s", after)
		}
		if after := s.recoveryTime(k, 0, 6); after != -1 {
			t.Errorf("recovered after %v s of too few", after)
		}
		if got := s.measured(2, 4); got.rate != 1 || got.refusals != 3 || got.N != 2 {
			t.Errorf("%+v", got)
		}
		if got := s.describeUse(1, 3); !strings.HasPrefix(got, "2.50 cores of the nodes") || !strings.HasSuffix(got, "a lag of 8.0 ms") {
			t.Errorf("%s", got)
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
	if k.Shed != 10 || k.Unclear != 2 || len(k.Refused) != 3 || k.Refused["duel.join overloaded"] != 3 {
		t.Errorf("%+v", k)
	}
	if text := (&Report{Spike: &k}).String(); !strings.Contains(text, "shed: connect closed 1013") {
		t.Errorf("%s", text)
	}
}

// A load at which one client in fifty is refused is sustainable. A load at which one in ten
// is refused is not.
func TestFewRefusalsAreSustainable(t *testing.T) {
	t.Parallel()
	for shed, many := range map[int64]bool{0: false, 20: false, 100: true} {
		if got := (measurement{matches: 1000 - shed, refusals: shed}).hasManyRefusals(); got != many {
			t.Errorf("%d of 1000 refused: many %t", shed, got)
		}
	}
	if (measurement{}).hasManyRefusals() {
		t.Error("nobody asked, and many were refused")
	}
}

// The text shows the use under load, and ends with the verdict and its reasons.
func TestTheReportEndsWithTheVerdict(t *testing.T) {
	t.Parallel()
	r := &Report{EveryS: 1, FromS: .5, Seconds: 2, Times: map[string]stats.Quantiles{players.Answer: {N: 40, P50: 1.5, P99: 12, Max: 80}}}
	for i, playing := range []int64{0, 60, 40, 0} {
		r.Samples = append(r.Samples, Sample{AtS: float64(i), Playing: playing, Nodes: []Use{{Cores: float64(playing) / 100, Sessions: 12}}})
	}
	words := strings.Join(strings.Fields(r.String()), " ")
	for _, want := range []string{"node 1 0.50", "under load 50 40", "PASSED"} {
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
	s := &swarm{Config: Config{For: time.Hour, Seats: 2, Log: t.Logf}, checker: found, stats: stats.New(time.Second)}
	s.group = players.NewGroup(t.Context(), players.Config{Checker: found, Stats: s.stats})
	found.Violations.Add("m_1 had two firsts")
	s.idle = []*idleProcess{{err: io.EOF}}
	if err := s.pause(t.Context(), time.Nanosecond); !errors.Is(err, io.EOF) {
		t.Errorf("the run continues without a process of clients: %v", err)
	}
	r := s.play(t.Context())
	for _, want := range []string{"aborted: ", "1 violations", "m_1 had two firsts"} {
		if !strings.Contains(r.Failed()+r.String(), want) {
			t.Errorf("the report lacks %q: %s", want, r)
		}
	}
}

// A process with idle sessions reports its progress. It ends with its input, even while it
// tries to reach a server that does not exist.
func TestAnIdleProcessEndsWithItsInput(t *testing.T) {
	t.Parallel()
	in, input := io.Pipe()
	output, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- runIdle(t.Context(), in, out)
		_ = out.Close()
	}()
	if err := json.NewEncoder(input).Encode(idlePlan{Servers: []string{"http://127.0.0.1:1"}, Tokens: true, Sessions: 2, PerSecond: 1000, FirstAddress: -1}); err != nil {
		t.Fatal(err)
	}
	for updates, failed := json.NewDecoder(output), int64(0); failed == 0; {
		var u idleUpdate
		if err := updates.Decode(&u); err != nil {
			t.Fatal(err)
		}
		if u.Connected != 0 {
			t.Errorf("%d are connected", u.Connected)
		}
		failed += u.Counts["connect failed"]
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, output)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
