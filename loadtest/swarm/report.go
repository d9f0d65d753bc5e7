package swarm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"laststand/loadtest/client"
	"laststand/loadtest/players"
	"laststand/loadtest/report"
	"laststand/loadtest/stats"
)

// Report is the result of a run.
type Report struct {
	Machine     string  `json:"machine"`
	Nodes       int     `json:"nodes"`
	Connections int     `json:"connections"`
	Players     int     `json:"players"`
	Database    string  `json:"database"`
	Seconds     float64 `json:"seconds"` // duration of the load
	FromS       float64 `json:"from_s"`  // start of the load
	AnswersPerS float64 `json:"answers_per_s"`

	Times      map[string]stats.Quantiles `json:"times"`  // under load; connect, found and settled: in the whole run
	Counts     map[string]int64           `json:"counts"` // in the whole run
	Matches    int                        `json:"matches"`
	Reconnects client.Reconnects          `json:"reconnects"`
	Compared   int                        `json:"compared"` // players whose sums were compared
	Unsure     int                        `json:"unsure"`   // matches with an unknown verdict

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
}

// fillReport fills the report. The load was on between the two spans.
func (s *swarm) fillReport(r *Report, from, to int) {
	load, whole := s.stats.Between(from, to), s.stats.All()
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Machine, r.Nodes, r.Database = report.Machine(), len(s.nodes.urls), s.nodes.database
	r.Connections, r.Players = s.connections(), s.players()
	r.EveryS = s.stats.Length().Seconds()
	r.FromS, r.Seconds = float64(from)*r.EveryS, float64(max(to-from, 0))*r.EveryS
	r.Times, r.Counts = load.All(), whole.Counts
	for _, kind := range []string{players.Connect, players.Found, players.Settled} { // many of these occur before or after the load
		if q := whole.Quantiles(kind); q.N > 0 {
			r.Times[kind] = q
		}
	}
	if r.Seconds > 0 {
		r.AnswersPerS = float64(r.Times[players.Answer].N) / r.Seconds
	}
	summary := s.checker.Summary()
	for _, n := range summary.Matches {
		r.Matches += n
	}
	r.Unsure, r.Reconnects = summary.Unsure, s.group.Reconnects()
	r.Violations, r.ViolationCount = s.checker.Violations.All()
	r.Marks, r.Points, r.Samples = s.marks, s.stats.Points(), s.samples
	r.PerConnection = perConnection(s.samples)
	if s.Soak {
		r.Soak = checkSoak(s.samples, r.FromS, r.FromS+r.Seconds)
	}
}

// perConnection returns the nodes' memory per connection at the highest number of
// connections.
func perConnection(all []Sample) (bytes float64) {
	highest := 0.0
	for _, one := range all {
		var mb, sessions float64
		for _, n := range one.Nodes {
			mb += n.MB
			sessions += n.Sessions
		}
		if sessions > highest {
			highest, bytes = sessions, mb*(1<<20)/sessions
		}
	}
	return bytes
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
	all := report.New(fmt.Sprintf("stress swarm: %d connections to %d nodes (%s), %d of them play; the load was on for %.0f s",
		r.Connections, r.Nodes, r.Database, r.Players, r.Seconds))
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
	t := r.Reconnects
	fmt.Fprintf(&b, "%s\n%.1f answers/s; %.0f bytes of the nodes per connection\n", all, r.AnswersPerS, r.PerConnection)
	fmt.Fprintf(&b, "players   connected %d times; lost %d connections, closed %d silent ones, resumed %d matches with %d missed pushes\n",
		t.Connections, t.Lost, t.Silent, t.Resumed, t.MissedPushes)
	fmt.Fprintf(&b, "checks    %d matches, %d with an unknown verdict; the sums of %d players were compared with the leaderboard\n", r.Matches, r.Unsure, r.Compared)
	r.writeResults(&b)
	return b.String()
}

// addUse adds what the processes used under load, and how many players were in matches.
func (r *Report) addUse(all *report.Report) {
	load := slices.DeleteFunc(slices.Clone(r.Samples), func(s Sample) bool { return s.AtS <= r.FromS || s.AtS > r.FromS+r.Seconds })
	if len(load) == 0 { // the run was aborted before the load
		load = r.Samples
	}
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
		fmt.Fprintf(b, "spike     %.0f answers/s are sustainable (%d players, p99 %.1f ms); in the spike of %d players %.0f, p99 %.1f ms, %d shed; recovered after %.0f s\n          in the spike %s\n",
			k.Sustainable, k.Players, k.Before.P99, k.Offered, k.Rate, k.During.P99, k.Shed, k.RecoveredS, k.Used)
		for _, name := range slices.Sorted(maps.Keys(k.Refused)) {
			fmt.Fprintf(b, "          shed: %-32s %10d\n", name, k.Refused[name])
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
