package stress

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkServer reports the violations that the attackers saw. It compares the refusals
// that they saw with the metrics of the server.
func (a *attacked) checkServer(ctx context.Context) error {
	for _, p := range a.phases {
		for _, t := range p.attacks {
			for _, line := range slices.Sorted(maps.Keys(t.Violations)) {
				a.checker.Violations.Add("%s (%d times, %s)", line, t.Violations[line], p.name)
			}
			if t.Omitted > 0 {
				a.checker.Violations.Add("%s: and %d more", t.Kind, t.Omitted)
			}
		}
	}
	after, err := a.cluster.nodes[0].Metrics(ctx)
	if err != nil {
		return fmt.Errorf("the server does not answer any more: %w", err)
	}
	check := func(refusal string, seen int64, metric string, labels ...string) {
		if n := after.Sum(metric, labels...) - a.before.Sum(metric, labels...); n < float64(seen) {
			a.checker.Violations.Add("%d refusals %q were seen, and %s %v counts %.0f", seen, refusal, metric, labels, n)
		}
	}
	refused := refusals(a.phases)
	for refusal, seen := range refused {
		if metric, labels := metricOf(refusal); metric != "" {
			check(refusal, seen, metric, labels...)
		}
	}
	check("close 4401", refused["close 4401"], "laststand_token_refusals_total")
	check("rate limited", refused["http 429"]+refused["error rate_limited"], "laststand_limit_refusals_total")
	if n := after.Sum("laststand_ws_panics_total"); n > 0 {
		a.checker.Violations.Add("%.0f messages panicked", n)
	}
	return nil
}

// refusals sums up the refusals of the attackers in some phases, by kind of refusal.
func refusals(phases []phase) map[string]int64 {
	all := map[string]int64{}
	for _, p := range phases {
		for _, t := range p.attacks {
			for refusal, n := range t.Refused {
				all[refusal] += n
			}
		}
	}
	return all
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
