package main

import (
	"math"
	"runtime"
	"testing"
	"testing/fstest"
)

// A process may use the quota of its container, which may be less than one CPU.
func TestUsableCPUsFollowTheContainerQuota(t *testing.T) {
	t.Parallel()
	const quotaFile, v1QuotaPrefix = "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/cpu/cpu.cfs_"
	allCPUs := float64(runtime.GOMAXPROCS(0))
	for name, test := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"a machine":                        {nil, allCPUs},
		"a container":                      {map[string]string{quotaFile: "50000 100000\n"}, .5},
		"a container without a quota":      {map[string]string{quotaFile: "max 100000\n"}, allCPUs},
		"a quota above what Go uses":       {map[string]string{quotaFile: "100000000 100000\n"}, allCPUs},
		"a quota of cgroup version 1":      {map[string]string{v1QuotaPrefix + "quota_us": "25000\n", v1QuotaPrefix + "period_us": "100000\n"}, .25},
		"cgroup version 1 without a quota": {map[string]string{v1QuotaPrefix + "quota_us": "-1\n", v1QuotaPrefix + "period_us": "100000\n"}, allCPUs},
	} {
		if got := usableCPUs(fakeMachine(test.files)); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// The usage of the machine is computed from the ticks since the last sample.
func TestMachineUsageIsComputedSinceTheLastSample(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	u := &cpuUsage{root: files}
	sampleAfter := func(stat string) float64 {
		files["proc/stat"] = &fstest.MapFile{Data: []byte(stat)}
		return u.sample()
	}
	for _, test := range []struct {
		stat            string
		atLeast, atMost float64
	}{
		{"cpu  100 0 0 100 0 0 0 0 0 0\ncpu0 1\n", assumedCPUUsage, assumedCPUUsage}, // the first sample
		{"cpu  110 10 10 110 0 10 20 30 0 0\n", .9, 1},
		{"cpu  110 10 10 110 0 10 20 30 0 0\n", assumedCPUUsage, assumedCPUUsage}, // no tick since the last sample
		{"nonsense", assumedCPUUsage, assumedCPUUsage},
	} {
		if got := sampleAfter(test.stat); got < test.atLeast || got > test.atMost {
			t.Errorf("%q: %v", test.stat, got)
		}
	}
}
