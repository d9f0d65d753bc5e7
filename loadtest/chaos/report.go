package chaos

import (
	"fmt"
	"slices"
	"strings"

	"laststand/loadtest/checker"
	"laststand/loadtest/client"
	"laststand/loadtest/stats"
)

// MaxLateMS is how late a step of a match may be by the contract.
const MaxLateMS = 3000

// Report is the result of a run.
type Report struct {
	Config     Config
	Summary    checker.Summary
	Counts     map[string]int64
	LateMS     []int64 // by how many ms questions opened late, sorted
	TwoNodes   int     // questions over MaxLateMS while two or more nodes were down or stalled
	Delays     stats.Sum
	Reconnects client.Reconnects
	Violations []string // the first ones
	Count      int      // of all violations

	logs map[string]string // of the nodes
}

func (r *run) report() Report {
	all := Report{
		Config: r.Config, Summary: r.checker.Summary(), Counts: r.group.Stats.All().Counts, Delays: r.delays.classify(&r.nodes.outages),
		Reconnects: r.group.Reconnects(), logs: make(map[string]string),
	}
	all.Violations, all.Count = r.checker.Violations.All()
	for _, o := range all.Summary.Openings {
		all.LateMS = append(all.LateMS, o.LateMS())
		if o.LateMS() > MaxLateMS && r.isOfTwoNodes(o) {
			all.TwoNodes++
		}
	}
	slices.Sort(all.LateMS)
	for _, n := range r.nodes.all {
		all.logs[n.name] = n.Log()
	}
	return all
}

// isOfTwoNodes reports whether two or more nodes were down or stalled while a question
// was late. The contract bounds the delay for one failed node. A node that fails while it
// takes over from another adds its own delay.
func (r *run) isOfTwoNodes(o checker.Opening) bool {
	return r.nodes.outages.count(span{r.delays.clock.local(o.DueAt), r.delays.clock.local(o.OpenedAt)}) > 1
}

// LaterThan returns how many questions opened more than ms late.
func (r Report) LaterThan(ms int64) int {
	i, _ := slices.BinarySearch(r.LateMS, ms+1)
	return len(r.LateMS) - i
}

// quantile returns a quantile of how late questions opened, in ms.
func (r Report) quantile(q float64) int64 {
	if len(r.LateMS) == 0 {
		return 0
	}
	return r.LateMS[int(q*float64(len(r.LateMS)-1))]
}

// String formats the report for people.
func (r Report) String() string {
	var b strings.Builder
	c, t, m := r.Config, r.Reconnects, r.Summary.Matches
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("seed %d: %d nodes, %d players, %v", c.Seed, c.Nodes, c.Players, c.For)
	line("matches   %d duels, %d buzzer, %d survival; %d pushes, %d answers, %d sent again", m["duel"], m["buzzer"], m["survival"],
		r.Summary.Pushes, r.Counts["answer accepted"], r.Counts["answer repeated"])
	line("faults    %d kills, %d stalls, %d drains", c.Kills, c.Stalls, c.Drains)
	line("players   %d connections; %d lost, %d silent, %d to draining nodes, %d replaced", t.Connections, t.Lost, t.Silent, t.Drained, t.Replaced)
	line("resumed   %d matches with %d missed pushes; %d requests sent again; %d matches with an unknown verdict", t.Resumed, t.MissedPushes, t.ResentRequests, r.Summary.Unsure)
	line("late      of %d questions: p50 %d ms, p99 %d ms, most %d ms; over %d s: %d, of which %d while two nodes or more were down or stalled",
		len(r.LateMS), r.quantile(0.5), r.quantile(0.99), r.quantile(1), MaxLateMS/1000, r.LaterThan(MaxLateMS), r.TwoNodes)
	for _, kind := range delayKinds {
		q := r.Delays.Quantiles(kind)
		line("%7d %s: p50 %.0f ms, p99 %.0f ms, most %.0f ms", q.N, kind, q.P50, q.P99, q.Max)
	}
	line("violations %d", r.Count)
	for _, v := range r.Violations {
		line("  - %s", v)
	}
	return b.String()
}
