// Package stress plays on servers with many honest players and checks everything that
// they receive, and everything that is stored at the end, against the wire contract; see
// package checker. Swarm loads the servers. Chaos kills, stalls and drains them. Hostile
// attacks one of them. Its attackers note how the server refused them, and every violation
// of the contract.
//
// Start reading at run; for the attackers, at attacker.
package stress

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// run is a run of any of the three, with its nodes and players. Its methods for nodes are safe for
// concurrent use.
type run struct {
	ClusterConfig
	*testenv.Nodes
	checker *checker.Checker
	stats   *players.Recorder
	group   *players.Group
	rejoins bool // at the end, the players of duels enter the queue once more

	failover sync.RWMutex // locked while a master of Redis is replaced; read-locked while a node starts

	life        context.Context
	playing     context.Context // of the players
	stopPlaying context.CancelFunc
	stopOnce    sync.Once // of the nodes
}

// newRun makes a run without nodes. span is the length of the spans of its figures.
func newRun(ctx context.Context, c ClusterConfig, rules *checker.Checker, span time.Duration) *run {
	r := &run{ClusterConfig: c, Nodes: new(testenv.Nodes), checker: rules, stats: players.NewRecorder(span), life: ctx}
	r.playing, r.stopPlaying = context.WithCancel(ctx)
	return r
}

// end ends the players, if they still play, and then the nodes.
func (r *run) end() {
	r.stopPlaying()
	if r.group != nil {
		r.group.Wait()
		r.group.Disconnect()
	}
	r.stopNodes()
}

// log prints a line with the time since the start of the run.
func (r *run) log(format string, args ...any) {
	show := r.Log
	if show == nil {
		show = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	}
	show("%7.1f s  "+format, append([]any{r.stats.Seconds()}, args...)...)
}

// dialer returns the dialer of the nth client; nil: any local address.
func (r *run) dialer(n int) *net.Dialer {
	if slices.ContainsFunc(r.URLs(), func(url string) bool { return !strings.HasPrefix(url, "http://127.0.0.1:") }) {
		return nil
	}
	return players.FromAddress(n / players.PerAddress)
}

// finish lets the players finish their matches, and checks everything that is stored.
// One match and one player in so many as share says are read by themselves.
func (r *run) finish(ctx context.Context, share int) {
	r.log("no new matches")
	r.group.Stop()
	r.group.Wait()
	if r.rejoins {
		r.group.Rejoin()
	}
	r.group.Disconnect()
	testenv.MustDo(ctx.Err())
	r.log("all has been played; checking what is stored")
	r.checker.JudgeRest()
	stored := checker.Stored{Checker: r.checker, Get: r.group.Get, Share: share}
	stored.CheckStored(ctx)
	if posted := r.group.Posted.Load(); posted > 0 {
		testenv.MustDo(r.checker.Agree(ctx, func() { r.compareBehaviours(ctx, float64(posted)) }))
	}
	r.log("everything is checked")
}

// maxLateMS is how late a step of a match may be by the contract.
const maxLateMS = 3000

// Report is the result of a run. Its failures include the first violations.
type Report struct {
	*players.Report
	Summary checker.Summary
	Counts  map[string]int64 // of everything that the players counted

	nodes []*testenv.Node
}

// newReport starts the report of a run whose nodes have ended, with its violations.
func (r *run) newReport(program string) *Report {
	out := &Report{Report: players.NewReport("stress " + program), Summary: r.checker.Summary(), nodes: r.All}
	listed, count := r.checker.Violations.All()
	for _, line := range listed {
		out.FailIf(true, "violation: %s", line)
	}
	out.FailIf(count > len(listed), "%d violations in all", count)
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
	durations := out.Table("durations", "n", "p50 ms", "p90 ms", "p99 ms", "most ms")
	for _, kind := range slices.Sorted(maps.Keys(times)) {
		q := times[kind]
		durations.Add(kind, float64(q.N), q.P50, q.P90, q.P99, q.Max)
	}
	out.Counts = whole.Counts
	counts := out.Table("counts of the whole run", "n")
	for _, name := range slices.Sorted(maps.Keys(out.Counts)) {
		counts.Add(name, float64(out.Counts[name]))
	}
	length := r.stats.Length().Seconds()
	out.Line("load      %.1f answers/s for %.0f s on %d nodes",
		float64(times[players.Answer].N)/max(float64(to-from)*length, 1), float64(to-from)*length, len(r.URLs()))
	out.Line("matches   %d duels, %d buzzer, %d survival, %d races; %d pushes; %d with an unknown verdict; the sums of %d players were compared",
		out.Summary.Matches["duel"], out.Summary.Matches["buzzer"], out.Summary.Matches["survival"], out.Summary.Matches["race"], out.Summary.Pushes, out.Summary.Unsure, out.Summary.Compared)
	if late := slices.Sorted(slices.Values(out.Summary.LateMS)); len(late) > 0 {
		n := len(late)
		out.Line("late      of %d questions: p50 %d ms, p99 %d ms, most %d ms; over %d s: %d",
			n, late[n/2], late[n*99/100], late[n-1], maxLateMS/1000, out.laterThan(maxLateMS))
	}
}

// laterThan returns how many questions opened more than ms late.
func (out *Report) laterThan(ms int64) (count int) {
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
func (out *Report) publish() {
	if len(out.Failures) == 0 {
		out.Line("PASSED    the server kept the contract")
	} else {
		out.Line("the logs of the nodes are in %s", testenv.Must(out.KeepLogs()))
	}
	testenv.MustDo(out.Publish())
}
