package bench_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"laststand/loadtest/players"
)

// The benchmarks Pending and Churn measure the timing wheel of internal/timer. It runs beside
// time.AfterFunc and a heap with one goroutine (as the JDK Timer does).
//
//	go test -run '^$' -bench Pending -timeout 30m ./loadtest/bench    # 3 to 4 minutes
//	go test -run '^$' -bench Churn -timeout 30m ./loadtest/bench      # 3 to 4 minutes
//	go test -run '^$' -bench 'Pending|Churn' -timeout 60m ./loadtest/bench -args -pending 100000,500000,1000000
//
// Each run is a separate process. The kinds take turns, -runs times. The
// benchmark prints medians, but the earliest and the latest call are of all runs.
//
//   - Pending: the benchmark adds -pending timers at once. They are due after -from
//     to -to, and all run.
//   - Churn: as Pending. For the time -churn, two goroutines also add -adds timers
//     per second that are due after 2 to 5 s. They stop nine of ten of these timers
//     half a second later.
//
// Bytes are those of the live heap after a collection, and of the process (RSS),
// divided by the highest number of pending timers. They include the 16 bytes of
// each function, but not the variables of the caller. CPU is that of the whole
// process. It includes the work of making the load, but not that collection.
// Lateness is the time from the deadline, computed before the timer was added, to
// the call. The benchmark fails if the wheel calls a function early, or never.
var (
	pending = flag.String("pending", "1000000", "timers that are pending at once; several numbers, each by itself")
	runs    = flag.Int("runs", 3, "of each kind, in turn")
	from    = flag.Duration("from", 5*time.Second, "the soonest that pending timers are due")
	to      = flag.Duration("to", 15*time.Second, "the latest")
	churn   = flag.Duration("churn", 10*time.Second, "how long timers are added and stopped beside those that are pending")
	adds    = flag.Int("adds", 200_000, "timers added a second; nine of ten are stopped")
)

// BenchmarkPending measures pending timers that all run.
func BenchmarkPending(b *testing.B) { each(b, 0) }

// BenchmarkChurn also adds and stops other timers.
func BenchmarkChurn(b *testing.B) { each(b, *churn) }

// each measures all kinds in turn, -runs times, for each number of pending timers. It runs
// once, for any b.N.
func each(b *testing.B, churn time.Duration) {
	if b.N > 1 {
		return
	}
	for _, text := range strings.Split(*pending, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			b.Fatalf("-pending: %q is not a number of timers", text)
		}
		outcomes := make(map[string][]outcome)
		for range *runs {
			for _, kind := range order {
				outcomes[kind] = append(outcomes[kind], process(b, kind, n, churn))
			}
		}
		show(n, churn, outcomes)
		for _, o := range outcomes[order[0]] {
			if o.Earliest < 0 || o.Missed != 0 {
				b.Errorf("the wheel called %v s early at most, and %d never", -o.Earliest, o.Missed)
			}
		}
	}
}

// process measures one kind in a separate process.
func process(b *testing.B, kind string, n int, churn time.Duration) (o outcome) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-timers", kind, "-count", strconv.Itoa(n), "-churned", churn.String(),
		"-from", from.String(), "-to", to.String(), "-adds", strconv.Itoa(*adds))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s: %v", kind, err)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		b.Fatalf("%s: %v in %q", kind, err, out)
	}
	return o
}

func show(n int, churn time.Duration, outcomes map[string][]outcome) {
	fmt.Printf("\n%d pending, due after %v to %v", n, *from, *to)
	if churn > 0 {
		fmt.Printf(", beside %d adds and %d stops a second for %v", *adds, *adds/10*9, churn)
	}
	fmt.Printf("; medians of %d\n%-16s %8s %8s %8s %8s %28s %9s %9s %9s\n", *runs, "", "bytes", "RSS", "ns/add", "CPU s",
		"late p50 / p99 / p99.9, ms", "latest", "earliest", "missed")
	middle := func(kind string, says func(outcome) float64) float64 { return players.Median(outcomes[kind], says) }
	for _, kind := range order {
		ms := func(says func(outcome) float64) float64 { return 1e3 * middle(kind, says) }
		latest, earliest, missed := outcomes[kind][0].Max, outcomes[kind][0].Earliest, 0
		for _, o := range outcomes[kind] {
			latest, earliest, missed = max(latest, o.Max), min(earliest, o.Earliest), missed+o.Missed
		}
		fmt.Printf("%-16s %8.1f %8.1f %8.0f %8.2f %12.2f / %5.2f / %5.2f %9.2f %9.3f %9d\n", kind, middle(kind, heapOf), middle(kind, rssOf),
			1e9*middle(kind, func(o outcome) float64 { return o.Add }), middle(kind, cpuOf),
			ms(func(o outcome) float64 { return o.P50 }), ms(func(o outcome) float64 { return o.P99 }), ms(func(o outcome) float64 { return o.P999 }),
			1e3*latest, 1e3*earliest, missed)
	}
	share := func(says func(outcome) float64) float64 { return middle(order[0], says) / middle(order[1], says) }
	fmt.Printf("the wheel's share of %s: bytes %.2f, RSS %.2f, CPU %.2f\n", order[1], share(heapOf), share(rssOf), share(cpuOf))
}

func heapOf(o outcome) float64 { return o.Heap }
func rssOf(o outcome) float64  { return o.RSS }
func cpuOf(o outcome) float64  { return o.CPU }
