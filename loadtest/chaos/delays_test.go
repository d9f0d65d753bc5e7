package chaos

import (
	"testing"
	"time"

	"laststand/loadtest/checker"
)

func at(ms int64) time.Time { return time.UnixMilli(1_000_000 + ms) }

// outagesOf returns the outages of nodes a and b.
func outagesOf(all ...outage) *outages { return &outages{all: all} }

// The servers' part of a delay starts when the player is connected and its node runs.
func TestDelaysAreClassifiedByTheirCause(t *testing.T) {
	t.Parallel()
	var d delays
	for _, lead := range []int64{900, 500, 3000} { // the lowest bound is the best
		d.clock.bound(lead)
	}
	o := outagesOf(outage{"b", span{at(100), at(2000)}}, outage{"b", span{at(9000), at(9500)}})
	for _, a := range []arrival{
		{came: at(40), welcomeAt: at(-5000), server: "a"},   // connected to a running node
		{came: at(99), welcomeAt: at(-5000), server: "b"},   // the same, before the stall
		{came: at(101), welcomeAt: at(-5000), server: "b"},  // the same: it was on its way before the stall
		{came: at(700), welcomeAt: at(400), server: "a"},    // the player was disconnected
		{came: at(2030), welcomeAt: at(-5000), server: "b"}, // the node was stalled
		{came: at(2200), welcomeAt: at(1000), server: "b"},  // both: the stall ended later
		{came: at(2300), welcomeAt: at(2250), server: "b"},  // the player was disconnected while its node was stalled
	} {
		a.opensAt = at(500).UnixMilli()
		d.all = append(d.all, a)
	}
	got := d.classify(o)
	for kind, want := range map[string]struct {
		n    int64
		most float64
	}{
		allDelays: {7, 2300}, thereDelays: {3, 101}, awayDelays: {2, 2300}, awayServer: {2, 300}, stalledDelays: {2, 2200}, stalledServer: {2, 200},
	} {
		if q := got.Quantiles(kind); q.N != want.n || q.Max < want.most*.99 || q.Max > want.most*1.02 {
			t.Errorf("%s: %+v, want %+v", kind, q, want)
		}
	}
}

// A question is late because of two nodes if both failed while it was late.
func TestAQuestionIsLateBecauseOfTwoNodes(t *testing.T) {
	t.Parallel()
	r := &run{nodes: new(nodes)}
	r.delays.clock.bound(0)
	r.nodes.outages.all = []outage{{"a", span{at(0), at(2000)}}, {"b", span{at(1500), at(4000)}}}
	for q, want := range map[[2]int64]bool{{500, 1400}: false, {500, 1600}: true, {1900, 6000}: true, {2100, 6000}: false, {5000, 9000}: false} {
		if got := r.isOfTwoNodes(checker.Opening{DueAt: at(q[0]).UnixMilli(), OpenedAt: at(q[1]).UnixMilli()}); got != want {
			t.Errorf("%v: %t", q, got)
		}
	}
}

// The report counts the questions that opened too late.
func TestLateQuestionsAreCounted(t *testing.T) {
	t.Parallel()
	r := Report{LateMS: []int64{1, 2, 2999, 3000, 3001, 9000}}
	if r.LaterThan(MaxLateMS) != 2 || r.LaterThan(9000) != 0 || r.quantile(1) != 9000 {
		t.Errorf("%d, %d, %d", r.LaterThan(MaxLateMS), r.LaterThan(9000), r.quantile(1))
	}
}

// A seed repeats the faults: as many of each kind as were asked for, before the end, and
// stalls longer than a question.
func TestASeedRepeatsTheFaults(t *testing.T) {
	t.Parallel()
	r := &run{Config: Config{Kills: 3, Stalls: 2, Drains: 1, For: time.Minute, Seed: 7}, nodes: new(nodes)}
	first, again := r.faults(), r.faults()
	count := map[string]int{}
	for i, f := range first {
		count[f.name]++
		if f.at != again[i].at || f.lasts != again[i].lasts || f.name != again[i].name {
			t.Errorf("fault %d differs: %v after %v and %v after %v", i, f.name, f.at, again[i].name, again[i].at)
		}
		if f.at < r.For/10 || f.at > r.For*8/10 || f.name == "stall" && f.lasts < limitMS*time.Millisecond || i > 0 && f.at < first[i-1].at {
			t.Errorf("%s after %v for %v", f.name, f.at, f.lasts)
		}
	}
	if count["kill"] != 3 || count["stall"] != 2 || count["drain"] != 1 {
		t.Errorf("%v", count)
	}
}
