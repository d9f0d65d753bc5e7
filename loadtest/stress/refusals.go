package stress

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"laststand/internal/testenv"
)

// checkServer compares the refusals that the attackers saw with the metrics of the server.
func (a *attacked) checkServer(ctx context.Context) {
	refused := make(map[string]int64) // in all phases
	for _, p := range a.phases {
		for refusal, n := range p.refused {
			refused[refusal] += n
		}
	}
	after := testenv.Must(a.Nodes.All[0].Metrics(ctx))
	check := func(refusal string, seen int64, metric string, labels ...string) {
		n := after.Sum(metric, labels...) - a.before.Sum(metric, labels...)
		a.checker.Violations.AddIf(n < float64(seen), "%d refusals %q were seen, and %s %v counts %.0f", seen, refusal, metric, labels, n)
	}
	for refusal, seen := range refused {
		if metric, labels := metricOf(refusal); metric != "" {
			check(refusal, seen, metric, labels...)
		}
	}
	check("close 4401", refused["close 4401"], "laststand_token_refusals_total")
	check("rate limited", refused["http 429"]+refused["error rate_limited"], "laststand_limit_refusals_total")
	panics := after.Sum("laststand_ws_panics_total")
	a.checker.Violations.AddIf(panics > 0, "%.0f messages panicked", panics)
}

// metricOf returns the metric in which the server counts a refusal that an attacker
// noted, "" if it need not count it. The HTTP library's refusals before a request count
// too. The server need not count a client that it cuts off.
func metricOf(refusal string) (name string, labels []string) {
	kind, code, _ := strings.Cut(refusal, " ")
	label := []string{fmt.Sprintf("code=%q", code)}
	switch {
	case refusal == "http 414": // before any route
		return "laststand_http_oversized_requests_total", []string{`reason="url"`}
	case refusal == "http 431":
		return "laststand_http_oversized_requests_total", []string{`reason="headers"`}
	case kind == "http":
		return "laststand_http_requests_total", label
	case kind == "close":
		return "laststand_ws_closes_total", label
	case kind == "error":
		return "laststand_ws_refusals_total", label
	case kind == "upgrade":
		return "laststand_ws_refusals_total", []string{`code="upgrade"`}
	}
	return "", nil
}

// size is the size of a server: its resident MB of memory, its goroutines, its connections
// to clients and its open files.
type size map[string]float64

// sizeMargins are how far the server may exceed its largest size of the first phase, because
// they come and go by themselves. Pools keep the connections that they once needed.
var sizeMargins = size{"goroutines": 60, "connections": 20, "open files": 150}

// timesMB is by which factor memory may exceed that of the first phase, if that is more than
// HostileScale.MoreMB: the runtime gives some memory back late.
const timesMB = 1.5

// excess lists the ways in which a size exceeds an earlier one by more than is allowed.
func (z size) excess(before size, moreMB float64) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(z)) {
		limit := before[name] + sizeMargins[name]
		if name == "MB of memory" {
			limit = max(before[name]+moreMB, timesMB*before[name])
		}
		if z[name] > limit {
			all = append(all, fmt.Sprintf("the server has %.0f %s after the attacks, and had %.0f before", z[name], name, before[name]))
		}
	}
	return all
}

func sizeOf(ctx context.Context, n *testenv.Node) (size, error) {
	m, err := n.Metrics(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the size of the server: %w", err)
	}
	return size{
		"MB of memory": m.Sum("process_resident_memory_bytes") / (1 << 20), "goroutines": m.Sum("go_goroutines"),
		"connections": m.Sum("laststand_connections"), "open files": m.Sum("process_open_fds"),
	}, nil
}

// sizeInterval is the time between two readings of the size of a server.
const sizeInterval = time.Second / 2

// watchSize reads the size of a server until its result is called, which returns the largest
// values.
func watchSize(ctx context.Context, n *testenv.Node) func() (size, error) {
	ctx, cancel := context.WithCancel(ctx)
	most := size{}
	var failed error
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			now, err := sizeOf(context.WithoutCancel(ctx), n)
			if failed = err; err != nil {
				return
			}
			for name, value := range now {
				most[name] = max(most[name], value)
			}
			if testenv.Pause(ctx, sizeInterval) != nil {
				return
			}
		}
	})
	return func() (size, error) {
		cancel()
		watching.Wait()
		return most, failed
	}
}
