package runner

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"laststand/loadtest/swarm/clients"
	"laststand/loadtest/swarm/stats"
)

// A soak finds a leak. It ignores values that go up and down, or that grew only at the
// start.
func TestSoak(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		heap  func(s float64) float64
		grows bool
	}{
		"flat":             {func(float64) float64 { return 100 }, false},
		"up and down":      {func(s float64) float64 { return 100 + 30*float64(int(s)%20)/20 }, false},
		"a warm beginning": {func(s float64) float64 { return min(60+s, 120) }, false},
		"kept for minutes": {func(s float64) float64 { return 100 + 5*min(max(s-300, 0), 60) }, false},
		"a leak":           {func(s float64) float64 { return 100 + s/20 }, true},
	} {
		var all []Sample
		for s := 0.0; s < 1200; s += 4 {
			all = append(all, Sample{AtS: s, Nodes: []Use{{HeapMB: test.heap(s), MB: 200, Goroutines: 1000}}})
		}
		found := checkSoak(all, 0, 1200)
		if grew := len(found.Failures) > 0; grew != test.grows || grew && !strings.Contains(found.Failures[0], "node 1: heap alive, MB grew") || len(found.Lines) != 3 {
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
func TestSpikeLimits(t *testing.T) {
	t.Parallel()
	well := Spike{Before: stats.Quantiles{P99: 40}, During: stats.Quantiles{P99: 79}, Shed: 5, RecoveredS: 10}
	for want, change := range map[string]func(*Spike){
		"":                     func(*Spike) {},
		"p99 of the admitted":  func(s *Spike) { s.During.P99 = 81 },
		"nobody was turned":    func(s *Spike) { s.Shed = 0 },
		"without a clear code": func(s *Spike) { s.Unclear = 1 },
		"recovered after 11":   func(s *Spike) { s.RecoveredS = 11 },
		"recovered after -1":   func(s *Spike) { s.RecoveredS = -1 },
	} {
		s := well
		change(&s)
		s.judge(25)
		if want == "" && len(s.Failures) > 0 || want != "" && (len(s.Failures) != 1 || !strings.HasPrefix(s.Failures[0], want) && !strings.Contains(s.Failures[0], want)) {
			t.Errorf("%q: %q", want, s.Failures)
		}
	}
}

// A spike has recovered after three spans in a row with answers as fast as before and
// without refusals.
func TestRecovered(t *testing.T) {
	t.Parallel()
	d := &runner{series: stats.NewSeries(time.Second), Config: Config{Slack: time.Millisecond}}
	began := time.Now()
	for n, ms := range []int64{500, 70, 500, 70, 70, 70, 70} {
		var seen stats.Recorder
		seen.Add(stats.Answer, time.Duration(ms)*time.Millisecond)
		if n == 3 {
			seen.Count("connect closed 1013", 1)
		}
		slice, err := seen.Take()
		if err != nil {
			t.Fatal(err)
		}
		if err := d.series.Add(began.Add(time.Duration(n)*time.Second+700*time.Millisecond), slice); err != nil {
			t.Fatal(err)
		}
	}
	s := &Spike{Before: stats.Quantiles{P99: 40}}
	if after := d.recoveryTime(s, 0, 7); after != 4 {
		t.Errorf("recovered after %v s", after)
	}
	if after := d.recoveryTime(s, 0, 6); after != -1 {
		t.Errorf("recovered after %v s of too few", after)
	}
}

// A measurement contains the rate, the temporary refusals and the answer times of the same
// spans.
func TestMeasured(t *testing.T) {
	t.Parallel()
	d := &runner{series: stats.NewSeries(time.Second)}
	began := time.Now()
	for n := range 4 {
		var seen stats.Recorder
		for range 10 * n {
			seen.Add(stats.Answer, 5*time.Millisecond)
		}
		seen.Count("duel.join overloaded", int64(n))
		seen.Count("answer question_closed", 7)
		slice, err := seen.Take()
		if err != nil {
			t.Fatal(err)
		}
		if err := d.series.Add(began.Add(time.Duration(n)*time.Second+700*time.Millisecond), slice); err != nil {
			t.Fatal(err)
		}
		d.samples = append(d.samples, Sample{AtS: float64(n) + .5, Nodes: []Use{{Cores: float64(n), LagMS: 8}}})
	}
	if got := d.measured(1, 3); got.rate != 15 || got.refusals != 3 || got.N != 30 {
		t.Errorf("%+v", got)
	}
	if got := d.usedBetween(1, 3); got.nodes != 2.5 || got.lag != 8 {
		t.Errorf("%+v", got)
	}
}

// Clear refusals are distinguished from unclear failures.
func TestCodes(t *testing.T) {
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
}

// ended is a process that has ended.
type ended struct{ Process }

func (ended) ID() int { return 1 }

// The runner notices a process that has ended before it waits for anything.
func TestEnded(t *testing.T) {
	t.Parallel()
	gone := newWorker(ended{})
	gone.err = io.EOF
	close(gone.outputEnded)
	d := &runner{workers: []*worker{gone}}
	if err := d.pause(t.Context(), time.Nanosecond); !errors.Is(err, io.EOF) {
		t.Errorf("the run goes on after a client process has ended: %v", err)
	}
}

// dying is a process that writes some output and ends.
type dying struct {
	Process
	says string
}

func (dying) ID() int                     { return 1 }
func (dying) Write(p []byte) (int, error) { return len(p), nil }
func (d dying) Output() io.Reader         { return strings.NewReader(d.says) }

// A run that breaks off because a process has ended reports the violations seen until then.
// This holds under load and at the end.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	slice, err := new(stats.Recorder).Take()
	if err != nil {
		t.Fatal(err)
	}
	said := func(s clients.Update) string {
		s.Slice = slice
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	untrue := said(clients.Update{Violations: []string{"m_1 had two firsts"}})
	well := said(clients.Update{Violations: []string{"a sum is wrong"}, Done: &clients.Summary{Checked: 3}})
	for name, span := range map[string]time.Duration{"while the load is on": time.Hour, "in the end": 0} {
		d := &runner{Config: Config{For: span}, environment: new(environment), series: stats.NewSeries(time.Second), began: time.Now()}
		for _, says := range []string{untrue, well} {
			l := newWorker(dying{says: says})
			d.workers = append(d.workers, l)
			l.reading.Go(func() { l.read(d.handleUpdate) })
		}
		<-d.workers[0].outputEnded
		r := d.play(t.Context())
		for _, want := range []string{"broken off: process 1 of the swarm has ended", "2 untruths", "m_1 had two firsts", "a sum is wrong"} {
			if !strings.Contains(r.Failed()+r.String(), want) {
				t.Errorf("%s: the report lacks %q: %s", name, want, r)
			}
		}
		if r.Checked != 3 {
			t.Errorf("%s: %d players were checked", name, r.Checked)
		}
	}
}

// Refusals are counted by request and by code.
func TestTurnedAway(t *testing.T) {
	t.Parallel()
	var s Spike
	s.countRefusals(map[string]int64{"connect closed 1013": 7, "duel.join overloaded": 3, "answer internal": 2, "answer accepted": 900})
	if s.Shed != 10 || s.Unclear != 2 || len(s.Refused) != 3 || s.Refused["duel.join overloaded"] != 3 {
		t.Errorf("%+v", s)
	}
	if text := (&Report{Spike: &s}).String(); !strings.Contains(text, "shed: connect closed 1013") {
		t.Errorf("%s", text)
	}
}

// A load at which one client in fifty is refused is sustainable. A load at which one in ten
// is refused is not.
func TestFewAreTurnedAway(t *testing.T) {
	t.Parallel()
	for shed, many := range map[int64]bool{0: false, 20: false, 100: true} {
		if got := (measurement{matches: 1000 - shed, refusals: shed}).hasManyRefusals(); got != many {
			t.Errorf("%d of 1000 turned away: many %v", shed, got)
		}
	}
	if (measurement{}).hasManyRefusals() {
		t.Error("nobody asked, and many were turned away")
	}
}
