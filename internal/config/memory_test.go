package config

import (
	"runtime/debug"
	"testing"
)

func TestMemoryLimitIsConfiguredOrThatOfTheMachine(t *testing.T) { //nolint:paralleltest // the environment is the process's
	t.Setenv("GOMEMLIMIT", "")
	if got := MemoryLimit(3); got != 3<<20 {
		t.Errorf("configured: %d", got)
	}
	if got := MemoryLimit(0); got < 64<<20 || got > 1<<50 {
		t.Errorf("this machine has %d bytes", got)
	}
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
	if setMemoryLimit(1 << 30); MemoryLimit(0) == 1<<30/20*19 {
		t.Error("the collector's limit is taken for the memory of the process")
	}
}
