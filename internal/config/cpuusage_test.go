package config

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"laststand/internal/testenv"
)

// A process may use the quota of its container, which may be less than one CPU.
func TestUsableCPUsFollowTheContainerQuota(t *testing.T) {
	t.Parallel()
	const quotaFile, v1QuotaPrefix = "cpu.max", "cpu/cpu.cfs_"
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
		if got := usableCPUs(fakeFolder(test.files)); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func fakeFolder(files map[string]string) fstest.MapFS {
	folder := fstest.MapFS{}
	for path, text := range files {
		folder[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return folder
}

// The usage of the machine is computed from the ticks since the last sample.
func TestMachineUsageIsComputedSinceTheLastSample(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	self := filepath.Join(proc, "1")
	testenv.NoError(t, errors.Join(os.Mkdir(self, 0o700), os.Symlink("1", filepath.Join(proc, "self")), os.WriteFile(filepath.Join(self, "stat"), []byte("1 (a) S "+strings.Repeat("0 ", 49)), 0o600)))
	usage := NewCPUUsage(proc, fstest.MapFS{})
	for _, test := range []struct {
		stat            string
		atLeast, atMost float64
	}{
		{"cpu  100 0 0 100 0 0 0 0 0 0\n", assumedCPUUsage, assumedCPUUsage}, // the first sample
		{"cpu  110 10 10 110 0 10 20 30 0 0\n", .89, .91},
		{"cpu  110 10 10 110 0 10 20 30 0 0\n", assumedCPUUsage, assumedCPUUsage}, // no tick since the last sample
		{"cpu  nonsense\n", assumedCPUUsage, assumedCPUUsage},
	} {
		testenv.NoError(t, os.WriteFile(filepath.Join(proc, "stat"), []byte(test.stat), 0o600))
		if got := usage.Sample(); got < test.atLeast || got > test.atMost {
			t.Errorf("%q: %v", test.stat, got)
		}
	}
}

func TestCPUUsageOfThisMachineIsBetween0And1(t *testing.T) {
	t.Parallel()
	usage := NewCPUUsage("/proc", os.DirFS("/sys/fs/cgroup"))
	if first, second := usage.Sample(), usage.Sample(); min(first, second) < 0 || max(first, second) > 1 {
		t.Errorf("%v and %v", first, second)
	}
}
