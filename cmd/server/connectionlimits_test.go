package main

import (
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"testing"
	"testing/fstest"

	"github.com/prometheus/client_golang/prometheus"
)

// The memory of a process is the least of all the limits that the machine reports.
func TestMachineMemoryIsTheSmallestLimit(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:        2048 kB\nMemFree: 7 kB\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no limit is reported":             {nil, 0},
		"a machine":                        {map[string]string{"proc/meminfo": meminfo}, 2 << 20},
		"a container":                      {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "1048576\n"}, 1 << 20},
		"a container without a limit":      {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "max\n"}, 2 << 20},
		"a container of cgroup version 1":  {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n"}, 4096},
		"cgroup version 1 without a limit": {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 2 << 20},
		"a machine without MemTotal":       {map[string]string{"proc/meminfo": "MemFree: 7 kB\n"}, 0},
	} {
		if got := machineMemory(fakeMachine(test.files)); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	if got := memoryLimit(3); got != 3<<20 {
		t.Errorf("configured: %d", got)
	}
}

// fakeMachine returns the file system of a machine with these files.
func fakeMachine(files map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for path, text := range files {
		all[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// The collector limits the heap to less than the memory of the process, unless GOMEMLIMIT is
// set.
func TestGCMemoryLimitIsBelowTheProcessLimit(t *testing.T) { //nolint:paralleltest // it is the process's
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	const processBytes = 20 << 30
	for _, test := range []struct {
		gomemlimit string
		bytes      int64
		want       int64
	}{{"", processBytes, 19 << 30}, {"", 0, before}, {"1GiB", processBytes, before}} {
		debug.SetMemoryLimit(before)
		t.Setenv("GOMEMLIMIT", test.gomemlimit)
		if setMemoryLimit(test.bytes); debug.SetMemoryLimit(-1) != test.want {
			t.Errorf("GOMEMLIMIT=%s, %d bytes: %d, want %d", test.gomemlimit, test.bytes, debug.SetMemoryLimit(-1), test.want)
		}
	}
	t.Setenv("GOMEMLIMIT", "")
	if setMemoryLimit(1 << 30); memoryLimit(0) == 1<<30/20*19 {
		t.Error("the collector's limit is taken for the memory of the process")
	}
}

// A node that has less memory than it needs refuses clients that only read. It stays ready. In
// a dry run it only counts.
func TestAnOverloadedNodeRefusesReadersAndStaysReady(t *testing.T) {
	t.Parallel()
	for _, dryRunSetting := range []string{"false", "[load_shedding]"} {
		dir := t.TempDir()
		node := startNode(t, cli{Data: &dir, Config: configFile(t, "limits: {max_memory_mib: 1, dry_run: "+dryRunSetting+"}\n")})
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
		n := &node{config: config{TrustedProxies: test.trusted}, registry: registry, log: slog.New(slog.DiscardHandler)}
		warn := n.newSingleAddressWarning()
		warn(netip.MustParseAddr(test.address))
		warn(netip.MustParseAddr(test.address))
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if got := families[0].GetMetric()[0].GetCounter().GetValue(); got != test.wantCount {
			t.Errorf("%s, with %v trusted: %v counted, want %v", test.address, test.trusted, got, test.wantCount)
		}
	}
}
