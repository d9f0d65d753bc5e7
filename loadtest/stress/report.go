package stress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"laststand/loadtest/checker"
	"laststand/loadtest/client"
	"laststand/loadtest/players"
	"laststand/loadtest/report"
	"laststand/loadtest/stats"
)

// MaxLateMS is how late a step of a match may be by the contract.
const MaxLateMS = 3000

// Report is the result of a run.
type Report struct {
	Program string  `json:"program"`
	Machine string  `json:"machine"`
	Nodes   int     `json:"nodes"`
	FromS   float64 `json:"from_s"`  // start of the load
	Seconds float64 `json:"seconds"` // duration of the load

	Times      map[string]stats.Quantiles `json:"times"`  // under load; connect, found and settled: in the whole run
	Counts     map[string]int64           `json:"counts"` // in the whole run
	Summary    checker.Summary            `json:"summary"`
	LateMS     []int64                    `json:"-"` // by how many ms questions opened late, sorted
	Compared   int                        `json:"compared"`
	Reconnects client.Reconnects          `json:"reconnects"`

	Aborted        string   `json:"aborted,omitempty"` // why the run was aborted
	Violations     []string `json:"violations"`        // the first ones
	ViolationCount int      `json:"violation_count"`
	Spike          *Spike   `json:"spike,omitempty"`
	Soak           *Soak    `json:"soak,omitempty"`

	PerConnection float64       `json:"bytes_per_connection"` // resident memory of all nodes divided by their sessions
	EveryS        float64       `json:"every_s"`
	Marks         []Mark        `json:"marks"`
	Points        []stats.Point `json:"points"`
	Samples       []Sample      `json:"samples"`

	logs map[string]string // of the nodes
}

// fillReport fills the report. The load was on between the two spans.
func (r *run) fillReport(program string, from, to int) *Report {
	out := &r.report
	load, whole := r.stats.Between(from, to), r.stats.All()
	r.mu.Lock()
	defer r.mu.Unlock()
	out.Program, out.Machine, out.Nodes = program, report.Machine(), len(r.cluster.urls())
	out.EveryS = r.stats.Length().Seconds()
	out.FromS, out.Seconds = float64(from)*out.EveryS, float64(max(to-from, 0))*out.EveryS
	out.Times, out.Counts = load.All(), whole.Counts
	for _, kind := range []string{players.Connect, players.Found, players.Settled} { // many of these occur before or after the load
		if q := whole.Quantiles(kind); q.N > 0 {
			out.Times[kind] = q
		}
	}
	out.Summary, out.Reconnects = r.checker.Summary(), r.group.Reconnects()
	for _, o := range out.Summary.Openings {
		out.LateMS = append(out.LateMS, o.LateMS())
	}
	slices.Sort(out.LateMS)
	out.Violations, out.ViolationCount = r.checker.Violations.All()
	out.Marks, out.Points, out.Samples = r.marks, r.stats.Points(), r.samples
	out.PerConnection = perConnection(r.samples)
	out.logs = make(map[string]string)
	for _, n := range r.cluster.nodes {
		out.logs[n.name] = n.Log()
	}
	return out
}

// perConnection returns the nodes' memory per connection at the highest number of
// connections.
func perConnection(all []Sample) (bytes float64) {
	highest := 0.0
	for _, s := range all {
		var mb, sessions float64
		for _, n := range s.Nodes {
			mb += n.MB
			sessions += n.Sessions
		}
		if sessions > highest {
			highest, bytes = sessions, mb*(1<<20)/sessions
		}
	}
	return bytes
}

// LaterThan returns how many questions opened more than ms late.
func (r *Report) LaterThan(ms int64) int {
	i, _ := slices.BinarySearch(r.LateMS, ms+1)
	return len(r.LateMS) - i
}

// Failed returns why the run has failed, or "".
func (r *Report) Failed() string {
	var reasons []string
	if r.ViolationCount > 0 {
		reasons = append(reasons, fmt.Sprintf("%d violations", r.ViolationCount))
	}
	if r.Aborted != "" {
		reasons = append(reasons, "aborted: "+r.Aborted)
	}
	if r.Spike != nil {
		reasons = append(reasons, r.Spike.Failures...)
	}
	if r.Soak != nil {
		reasons = append(reasons, r.Soak.Failures...)
	}
	return strings.Join(reasons, "; ")
}

// String formats the report for people.
func (r *Report) String() string {
	all := report.New("stress " + r.Program)
	times := all.Table("durations", report.Column{Name: "n"}, report.Column{Name: "p50 ms", Decimals: 2}, report.Column{Name: "p90 ms", Decimals: 2},
		report.Column{Name: "p99 ms", Decimals: 2}, report.Column{Name: "most ms", Decimals: 2})
	for _, kind := range slices.Sorted(maps.Keys(r.Times)) {
		q := r.Times[kind]
		times.Add(kind, float64(q.N), q.P50, q.P90, q.P99, q.Max)
	}
	r.addUse(all)
	counts := all.Table("counts of the whole run", report.Column{Name: "n"})
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		counts.Add(name, float64(r.Counts[name]))
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	m, t := r.Summary.Matches, r.Reconnects
	line("%s", all)
	line("load      %.1f answers/s for %.0f s on %d nodes; %.0f bytes of the nodes per connection",
		float64(r.Times[players.Answer].N)/max(r.Seconds, 1), r.Seconds, r.Nodes, r.PerConnection)
	line("matches   %d duels, %d buzzer, %d survival; %d pushes; %d with an unknown verdict; the sums of %d players were compared",
		m["duel"], m["buzzer"], m["survival"], r.Summary.Pushes, r.Summary.Unsure, r.Compared)
	line("players   %d connections; %d lost, %d silent, %d to draining nodes, %d replaced; %d matches resumed with %d missed pushes; %d requests sent again",
		t.Connections, t.Lost, t.Silent, t.Drained, t.Replaced, t.Resumed, t.MissedPushes, t.ResentRequests)
	if n := len(r.LateMS); n > 0 {
		line("late      of %d questions: p50 %d ms, p99 %d ms, most %d ms; over %d s: %d",
			n, r.LateMS[n/2], r.LateMS[n*99/100], r.LateMS[n-1], MaxLateMS/1000, r.LaterThan(MaxLateMS))
	}
	r.writeResults(&b)
	return b.String()
}

// addUse adds what the processes used under load, and how many players were in matches.
func (r *Report) addUse(all *report.Report) {
	load := slices.DeleteFunc(slices.Clone(r.Samples), func(s Sample) bool { return s.AtS <= r.FromS || s.AtS > r.FromS+r.Seconds })
	if len(load) == 0 {
		return
	}
	table := all.Table("under load", report.Column{Name: "cores (mean)", Decimals: 2}, report.Column{Name: "MB (most)", Decimals: 1},
		report.Column{Name: "sessions (most)"}, report.Column{Name: "goroutines (most)"})
	add := func(name string, use func(Sample) Use) {
		var cores float64
		var most Use
		for _, s := range load {
			u := use(s)
			cores += u.Cores / float64(len(load))
			most = Use{MB: max(most.MB, u.MB), Sessions: max(most.Sessions, u.Sessions), Goroutines: max(most.Goroutines, u.Goroutines)}
		}
		table.Add(name, cores, most.MB, most.Sessions, most.Goroutines)
	}
	for i := range load[0].Nodes {
		add(fmt.Sprintf("node %d", i+1), func(s Sample) Use { return s.Nodes[i] })
	}
	add("redis", func(s Sample) Use { return s.Redis })
	add("clients", func(s Sample) Use { return s.Clients })
	mean := 0.0
	for _, s := range load {
		mean += float64(s.Playing) / float64(len(load))
	}
	fewest := slices.MinFunc(load, func(a, b Sample) int { return cmp.Compare(a.Playing, b.Playing) }).Playing
	all.Table("players in matches", report.Column{Name: "mean"}, report.Column{Name: "fewest"}).Add("under load", mean, float64(fewest))
}

// writeResults writes the results of a spike and a soak, the violations and the verdict.
func (r *Report) writeResults(b *strings.Builder) {
	if k := r.Spike; k != nil {
		fmt.Fprintf(b, "spike     before, with %d players: %s\n          during, with %d players: %s\n          recovered after %.0f s\n",
			k.Players, k.Before, 3*k.Players, k.During, k.RecoveredS)
		for _, name := range slices.Sorted(maps.Keys(k.Refused)) {
			fmt.Fprintf(b, "          refused: %-32s %10d\n", name, k.Refused[name])
		}
	}
	if r.Soak != nil {
		fmt.Fprintf(b, "soak      %s\n", strings.Join(r.Soak.Lines, "\n          "))
	}
	for _, line := range r.Violations {
		fmt.Fprintf(b, "VIOLATION %s\n", line)
	}
	if reasons := r.Failed(); reasons != "" {
		fmt.Fprintf(b, "FAILED    %s\n", reasons)
	} else {
		fmt.Fprintf(b, "PASSED    the server kept the contract\n")
	}
}
