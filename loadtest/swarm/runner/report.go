package runner

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/stats"
)

// Report is the result of a run.
type Report struct {
	At          time.Time `json:"at"`
	Machine     string    `json:"machine"`
	Nodes       int       `json:"nodes"`
	Processes   int       `json:"processes"`
	Connections int       `json:"connections"`
	Players     int       `json:"players"`
	Database    string    `json:"database"`
	Seconds     float64   `json:"seconds"` // duration of the load
	FromS       float64   `json:"from_s"`  // start of the load
	AnswersPerS float64   `json:"answers_per_s"`

	Times      map[stats.Kind]stats.Quantiles `json:"times"`  // under load; connect, found and settled: in the whole run
	Counts     map[string]int64               `json:"counts"` // in the whole run
	Matches    int                            `json:"matches"`
	Reconnects player.Reconnects              `json:"travels"`
	Checked    int                            `json:"checked"` // players whose sums were compared
	Unsure     int                            `json:"unsure"`

	Broken     string   `json:"broken,omitempty"` // why the run broke off
	Violations []string `json:"violations"`
	Omitted    int      `json:"omitted"` // violations beyond those listed
	Spike      *Spike   `json:"spike,omitempty"`
	Soak       *Soak    `json:"soak,omitempty"`

	PerConnection float64       `json:"bytes_per_connection"` // resident memory of all nodes divided by their sessions
	EveryS        float64       `json:"every_s"`
	Marks         []Mark        `json:"marks"`
	Points        []stats.Point `json:"points"`
	Samples       []Sample      `json:"gauges"`
}

// fillReport fills the report. The load was on between the two spans.
func (d *runner) fillReport(r *Report, from, to int) {
	load, whole := d.series.Between(from, to), d.series.Between(0, 1<<30)
	d.mu.Lock()
	defer d.mu.Unlock()
	r.At = d.began
	r.Machine = fmt.Sprintf("%d cores, %s, %s; nodes, stores and players share it", runtime.NumCPU(), runtime.GOARCH, runtime.Version())
	r.Nodes, r.Processes, r.Database = len(d.environment.urls), len(d.workers), d.environment.database
	r.Connections, r.Players = d.connections(), d.Duellists+d.Buzzer+d.Survival
	r.EveryS = d.series.Every().Seconds()
	r.FromS = float64(from) * r.EveryS
	r.Seconds = float64(max(to-from, 0)) * r.EveryS
	r.Times, r.Counts = load.All(), whole.Counts
	for _, k := range []stats.Kind{stats.Connect, stats.Found, stats.Settled} { // many of these occur before or after the load
		if q := whole.Quantiles(k); q.N > 0 {
			r.Times[k] = q
		}
	}
	if r.Seconds > 0 {
		r.AnswersPerS = float64(r.Times[stats.Answer].N) / r.Seconds
	}
	r.Matches = d.matches.Done()
	r.Reconnects, r.Checked, r.Unsure = d.totals()
	r.Violations, r.Omitted = d.violations, d.omitted
	r.Marks, r.Points, r.Samples = d.marks, d.series.Points(), d.samples
	r.PerConnection = perConnection(d.samples)
	if d.Soak {
		begin, end := float64(from)*r.EveryS, float64(to)*r.EveryS
		r.Soak = checkSoak(d.samples, begin, end)
	}
}

// perConnection returns the nodes' memory per connection at the highest number of
// connections.
func perConnection(all []Sample) (bytes float64) {
	highest := 0.0
	for _, g := range all {
		var mb, sessions float64
		for _, n := range g.Nodes {
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
	if n := len(r.Violations) + r.Omitted; n > 0 {
		reasons = append(reasons, fmt.Sprintf("%d untruths", n))
	}
	if r.Broken != "" {
		reasons = append(reasons, "broken off: "+r.Broken)
	}
	if r.Spike != nil {
		reasons = append(reasons, r.Spike.Failures...)
	}
	if r.Soak != nil {
		reasons = append(reasons, r.Soak.Failures...)
	}
	return strings.Join(reasons, "; ")
}

// String returns the report as text.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "machine   %s\n", r.Machine)
	fmt.Fprintf(&b, "run       %d connections of %d processes to %d nodes (%s), %d of them play; the load was on for %.0f s\n",
		r.Connections, r.Processes, r.Nodes, r.Database, r.Players, r.Seconds)
	fmt.Fprintf(&b, "\n%-10s %10s %10s %10s %10s %10s\n", "", "n", "p50 ms", "p90 ms", "p99 ms", "most ms")
	for _, k := range stats.Kinds {
		if q := r.Times[k]; q.N > 0 {
			fmt.Fprintf(&b, "%-10s %10d %10.2f %10.2f %10.2f %10.2f\n", k, q.N, q.P50, q.P90, q.P99, q.Max)
		}
	}
	fmt.Fprintf(&b, "%.1f answers/s\n\n", r.AnswersPerS)
	r.writeUse(&b)
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&b, "%-32s %10d\n", name, r.Counts[name])
	}
	t := r.Reconnects
	fmt.Fprintf(&b, "\nplayers   connected %d times; lost %d connections, gave %d up for silence, resumed %d matches with %d pushes missed\n",
		t.Connections, t.Lost, t.Silent, t.Resumed, t.MissedPushes)
	fmt.Fprintf(&b, "truth     %d matches were the same to all; the sums of %d players were compared with the board, of %d it is not known\n", r.Matches, r.Checked, r.Unsure)
	r.writeVerdicts(&b)
	return b.String()
}

// underLoad returns the samples under load, or all samples if there are none under load.
func (r *Report) underLoad() []Sample {
	on := slices.DeleteFunc(slices.Clone(r.Samples), func(g Sample) bool { return g.AtS <= r.FromS || g.AtS > r.FromS+r.Seconds })
	if len(on) == 0 {
		return r.Samples
	}
	return on
}

// writeUse writes what the processes used under load, the highest values of the whole run,
// and how many players were in matches.
func (r *Report) writeUse(b *strings.Builder) {
	if len(r.Samples) == 0 {
		return
	}
	load := r.underLoad()
	mean := func(field func(Sample) float64) (sum float64) {
		for _, g := range load {
			sum += field(g)
		}
		return sum / float64(len(load))
	}
	highest := func(field func(Sample) float64) (out float64) {
		for _, g := range r.Samples {
			out = max(out, field(g))
		}
		return out
	}
	line := func(name string, field func(Sample) Use) {
		fmt.Fprintf(b, "%-10s %5.2f cores (mean), at most %7.1f MB, %6.0f sessions, %6.0f goroutines\n", name,
			mean(func(g Sample) float64 { return field(g).Cores }), highest(func(g Sample) float64 { return field(g).MB }),
			highest(func(g Sample) float64 { return field(g).Sessions }), highest(func(g Sample) float64 { return field(g).Goroutines }))
	}
	for i := range r.Samples[0].Nodes {
		line(fmt.Sprintf("node %d", i+1), func(g Sample) Use { return g.Nodes[i] })
	}
	line("redis", func(g Sample) Use { return g.Redis })
	line("players", func(g Sample) Use { return g.Clients })
	fewest := slices.MinFunc(load, func(a, b Sample) int { return cmp.Compare(a.Playing, b.Playing) }).Playing
	fmt.Fprintf(b, "in matches %.0f players (mean), %d at least\n", mean(func(g Sample) float64 { return float64(g.Playing) }), fewest)
	fmt.Fprintf(b, "%.0f bytes of the nodes a connection, of all that they are\n\n", r.PerConnection)
}

func (r *Report) writeVerdicts(b *strings.Builder) {
	if s := r.Spike; s != nil {
		fmt.Fprintf(b, "spike     %.0f answers/s are sustainable (%d players, p99 %.1f ms); in the spike of %d players %.0f, p99 %.1f ms, %d shed; recovered after %.0f s\n          in the spike %s\n",
			s.Sustainable, s.Players, s.Before.P99, s.Offered, s.Rate, s.During.P99, s.Shed, s.RecoveredS, s.Used)
		for _, name := range slices.Sorted(maps.Keys(s.Refused)) {
			fmt.Fprintf(b, "          shed: %-32s %10d\n", name, s.Refused[name])
		}
	}
	if s := r.Soak; s != nil {
		fmt.Fprintf(b, "soak      %s\n", strings.Join(s.Lines, "\n          "))
	}
	for _, line := range r.Violations {
		fmt.Fprintf(b, "UNTRUE    %s\n", line)
	}
	if r.Omitted > 0 {
		fmt.Fprintf(b, "UNTRUE    and %d more\n", r.Omitted)
	}
	if reasons := r.Failed(); reasons != "" {
		fmt.Fprintf(b, "FAILED    %s\n", reasons)
	} else {
		fmt.Fprintf(b, "held      all that was told and kept was true\n")
	}
}
