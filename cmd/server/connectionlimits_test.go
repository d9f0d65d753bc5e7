package main

import (
	"log/slog"
	"net/http"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// A node that has less memory than it needs refuses clients that only read. It stays ready. In
// a dry run it only counts.
func TestAnOverloadedNodeRefusesReadersAndStaysReady(t *testing.T) {
	t.Parallel()
	for _, dryRunSetting := range []string{"false", "[load_shedding]"} {
		dir := t.TempDir()
		node := startNode(t, cli.Flags{Data: &dir, Config: configFile(t, "limits: {max_memory_mib: 1, dry_run: "+dryRunSetting+"}\n")})
		waitUntil(t, "the node sheds load at the highest level", func() bool { return sumMetric(t, node.opsURL, "laststand_load_shed_level") == 5 })
		if sumMetric(t, node.opsURL, "go_gc_heap_live_bytes") == 0 {
			t.Error("the metrics do not have the live heap")
		}
		want, counter := http.StatusServiceUnavailable, "laststand_load_shed_refusals_total"
		if dryRunSetting != "false" {
			want, counter = http.StatusOK, "laststand_load_shed_dry_run_refusals_total"
		}
		if got := get(t, node.url+"/v1/games/demo/leaderboards", nil); got != want {
			t.Errorf("dry_run %s: a reader gets %d", dryRunSetting, got)
		}
		if sumMetric(t, node.opsURL, counter, `what="reading"`) != 1 {
			t.Errorf("dry_run %s: the refusal is not counted", dryRunSetting)
		}
		if got := get(t, node.url+"/readyz", nil); got != http.StatusOK {
			t.Errorf("dry_run %s: /readyz returns %d", dryRunSetting, got)
		}
	}
}

// All clients from one private address, while no proxy is trusted, are probably one load
// balancer that the configuration does not name. The node counts such connections.
func TestASinglePrivateAddressIsLogged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		address   string
		trusted   []string
		wantCount float64
	}{
		{"10.1.2.3", nil, 2}, {"192.168.0.1", nil, 2}, {"127.0.0.1", nil, 2}, {"100.64.7.7", nil, 2}, {"fd00::1", nil, 2}, {"fe80::1", nil, 2},
		{"203.0.113.7", nil, 0}, {"2a00:1::1", nil, 0}, {"10.1.2.3", []string{"10.9.0.0/16"}, 0},
	} {
		registry := prometheus.NewRegistry()
		warn := newSingleAddressWarning(test.trusted, registry, slog.New(slog.DiscardHandler))
		warn(netip.MustParseAddr(test.address))
		warn(netip.MustParseAddr(test.address))
		families := testenv.Need(registry.Gather())(t)
		if got := families[0].GetMetric()[0].GetCounter().GetValue(); got != test.wantCount {
			t.Errorf("%s, with %v trusted: %v counted, want %v", test.address, test.trusted, got, test.wantCount)
		}
	}
}
