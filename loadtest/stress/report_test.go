package stress

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// Each limit of a spike is checked.
func TestEachLimitOfASpikeIsChecked(t *testing.T) {
	t.Parallel()
	measured := func(p99 float64) measurement {
		return measurement{Quantiles: players.Quantiles{P99: p99}, refusals: 5}
	}
	for want, change := range map[string]func(*spike){
		"":                     func(*spike) {},
		"p99 of admitted":      func(k *spike) { k.during = measured(81) },
		"no client was turned": func(k *spike) { k.during.refusals = 0 },
		"without a clear code": func(k *spike) { k.unclear = 1 },
		"recovered after 11":   func(k *spike) { k.recoveredS = 11 },
		"recovered after -1":   func(k *spike) { k.recoveredS = -1 },
	} {
		k := spike{before: measured(40), during: measured(79), recoveredS: 10}
		change(&k)
		out := &Report{Report: players.NewReport("spike")}
		out.addSpike(&k)
		if want == "" && len(out.Failures) > 0 || want != "" && (len(out.Failures) != 1 || !strings.Contains(out.Failures[0], want)) {
			t.Errorf("%q: %q", want, out.Failures)
		}
	}
}

// A spike has recovered after three spans in a row with answers as fast as before and
// without refusals. A measurement has the rate, the refusals and the times of the same
// spans.
func TestRecoveryTakesThreeGoodSpans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &swarm{run: &run{stats: players.NewRecorder(time.Second)}}
		for n, ms := range []int64{500, 70, 500, 70, 70, 70, 70} {
			s.stats.Add(players.Answer, time.Duration(ms)*time.Millisecond)
			s.stats.Count("answer question_closed", 7)
			if n == 3 {
				s.stats.Count("connect closed 1013", 3)
			}
			time.Sleep(time.Second)
		}
		k := &spike{before: measurement{Quantiles: players.Quantiles{P99: 40}}}
		if after := s.recoveryTime(k, 0, 7); after != 4 {
			t.Errorf("recovered after %v s", after)
		}
		if after := s.recoveryTime(k, 0, 6); after != -1 {
			t.Errorf("recovered after %v s of too few", after)
		}
		got := s.measured(2, 4)
		if got.rate != 1 || got.refusals != 3 || got.N != 2 {
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
	var k spike
	k.countRefusals(map[string]int64{"connect closed 1013": 7, "duel.join overloaded": 3, "answer internal": 2, "answer accepted": 900})
	if k.unclear != 2 || len(k.refused) != 3 || k.refused["duel.join overloaded"] != 3 {
		t.Errorf("%+v", k)
	}
	out := &Report{Report: players.NewReport("spike")}
	out.addSpike(&k)
	if text := out.String(); !strings.Contains(text, "refused: connect closed 1013") {
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

// The text shows the load and late questions, and ends with the violations and the
// reasons of a failure.
func TestTheReportEndsWithTheVerdict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &run{checker: new(checker.Checker), stats: players.NewRecorder(time.Second), Nodes: testenv.AttachNodes([]string{"a"}), group: new(players.Group)}
		for range 20 {
			r.stats.Add(players.Answer, 12*time.Millisecond)
		}
		out := r.newReport("test")
		out.Summary.LateMS = []int64{2, 1, 9000, 2999, 3000, 3001}
		out.addPlay(r, 0, 2)
		words := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range []string{"10.0 answers/s for 2 s", "most 9000 ms; over 3 s: 2"} {
			if !strings.Contains(words, want) {
				t.Errorf("%q is missing:\n%s", want, words)
			}
		}
		if len(out.Failures) > 0 {
			t.Errorf("failures: %q", out.Failures)
		}
		r.checker.Violations.Add("one")
		r.checker.Violations.Add("two")
		if text := r.newReport("test").String(); !strings.HasSuffix(text, "FAILED: violation: one\nFAILED: violation: two\n") {
			t.Errorf("%s", text)
		}
	})
}

// A run that is aborted reports the violations up to then.
func TestAnAbortedRunReportsItsViolations(t *testing.T) {
	t.Parallel()
	found := new(checker.Checker)
	s := &swarm{Swarm: &Swarm{For: time.Hour, Seats: 2}, run: &run{checker: found, stats: players.NewRecorder(time.Second), Nodes: new(testenv.Nodes)}}
	s.run.Log = t.Logf
	ctx, end := context.WithCancel(t.Context())
	s.playing, s.stopPlaying = ctx, end
	end()
	s.group = players.NewGroup(ctx, players.Config{Checker: found, Stats: s.stats})
	found.Violations.Add("m_1 had two firsts")
	r := s.play(ctx)
	for _, want := range []string{"aborted: ", "m_1 had two firsts"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("the report lacks %q: %s", want, r)
		}
	}
}

// Behaviours that are lost, or counted without being there, are found.
func TestBehavioursAreAccounted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		offered, sent, queued int
		want                  string
	}{
		"accounted": {10, 6, 2, ""}, "lost": {10, 6, 1, "do not add up"}, "never offered": {9, 5, 2, "10 behaviours were answered for, and 9"},
	} {
		metrics := ""
		for metric, n := range map[string]int{"offered_total": test.offered, "sent_total": test.sent, "dropped_total": 1, "queued": test.queued, "in_flight": 1} {
			metrics += fmt.Sprintf("laststand_behaviours_%s{game=\"demo\"} %d\nlaststand_behaviours_%[1]s{game=\"other\"} 7\n", metric, n)
		}
		url := testenv.Serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, metrics) })
		r := &run{Nodes: &testenv.Nodes{All: []*testenv.Node{{OpsURL: url}}}}
		err := func() (err error) {
			defer testenv.Recover(&err)
			r.compareBehaviours(t.Context(), 10)
			return nil
		}()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
