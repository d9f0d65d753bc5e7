package stress

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
	"laststand/loadtest/report"
)

// MaxLateMS is how late a step of a match may be by the contract.
const MaxLateMS = 3000

// Report is the result of a run. Its failures are the reasons why the run has failed.
type Report struct {
	*report.Report
	Summary        checker.Summary
	Counts         map[string]int64 // of everything that the players counted
	Compared       int              // players whose stored sums were compared
	Violations     []string         // the first ones
	ViolationCount int

	nodes []*testenv.Node
}

// newReport starts the report of a run whose nodes have ended.
func (r *run) newReport(program string) *Report {
	return &Report{Report: report.New("stress " + program), Summary: r.checker.Summary(), nodes: r.cluster.nodes}
}

func (out *Report) finish(found *checker.Violations) *Report {
	out.Violations, out.ViolationCount = found.All()
	for _, line := range out.Violations {
		out.Line("VIOLATION %s", line)
	}
	if out.ViolationCount > 0 {
		out.Fail("%d violations", out.ViolationCount)
	}
	return out
}

// addPlay adds what the players did and how long it took. The load was on between two spans
// of the recorder.
func (out *Report) addPlay(r *run, from, to int) {
	load, whole := r.stats.Between(from, to), r.stats.All()
	times := load.All()
	for _, kind := range []string{players.Connecting, players.Found, players.Settled} { // many of these occur before or after the load
		if q := whole.Quantiles(kind); q.N > 0 {
			times[kind] = q
		}
	}
	durations := out.Table("durations", report.Column{Name: "n"}, report.Column{Name: "p50 ms", Decimals: 2}, report.Column{Name: "p90 ms", Decimals: 2},
		report.Column{Name: "p99 ms", Decimals: 2}, report.Column{Name: "most ms", Decimals: 2})
	for _, kind := range slices.Sorted(maps.Keys(times)) {
		q := times[kind]
		durations.Add(kind, float64(q.N), q.P50, q.P90, q.P99, q.Max)
	}
	out.Counts = whole.Counts
	counts := out.Table("counts of the whole run", report.Column{Name: "n"})
	for _, name := range slices.Sorted(maps.Keys(out.Counts)) {
		counts.Add(name, float64(out.Counts[name]))
	}
	length := r.stats.Length().Seconds()
	out.Line("load      %.1f answers/s for %.0f s on %d nodes",
		float64(times[players.Answer].N)/max(float64(to-from)*length, 1), float64(to-from)*length, len(r.cluster.urls()))
	out.Line("matches   %d duels, %d buzzer, %d survival, %d races; %d pushes; %d with an unknown verdict; the sums of %d players were compared",
		out.Summary.Matches["duel"], out.Summary.Matches["buzzer"], out.Summary.Matches["survival"], out.Summary.Matches["race"], out.Summary.Pushes, out.Summary.Unsure, out.Compared)
	if late := slices.Sorted(slices.Values(out.Summary.LateMS)); len(late) > 0 {
		n := len(late)
		out.Line("late      of %d questions: p50 %d ms, p99 %d ms, most %d ms; over %d s: %d",
			n, late[n/2], late[n*99/100], late[n-1], MaxLateMS/1000, out.LaterThan(MaxLateMS))
	}
}

// LaterThan returns how many questions opened more than ms late.
func (out *Report) LaterThan(ms int64) (count int) {
	for _, late := range out.Summary.LateMS {
		if late > ms {
			count++
		}
	}
	return count
}

// KeepLogs copies the logs of the nodes to a new folder, which stays.
func (out *Report) KeepLogs() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "stress-"); err != nil {
		return "", err
	}
	for i, n := range out.nodes {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, nodeName(i)+".log"), []byte(n.Log()), 0o600))
	}
	return dir, err
}

// publish publishes the report with the verdict. If the run has failed, it keeps the logs of
// the nodes, and says where.
func (out *Report) publish() (err error) {
	if len(out.Failures) == 0 {
		out.Line("PASSED    the server kept the contract")
	} else {
		var dir string
		dir, err = out.KeepLogs()
		out.Line("the logs of the nodes are in %s", dir)
	}
	return errors.Join(err, out.Publish())
}
