package timers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"laststand/loadtest/report"
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
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-as", kind, "-count", strconv.Itoa(n), "-churned", churn.String(),
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
	middle := func(kind string, says func(outcome) float64) float64 { return report.Median(outcomes[kind], says) }
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
