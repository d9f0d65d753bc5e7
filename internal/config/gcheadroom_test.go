package config

import (
	"runtime"
	"testing"
	"time"

	"laststand/internal/testenv"
)

func TestGCHeadroomComesFromConfigurationOrMemory(t *testing.T) { //nolint:paralleltest // the environment is the process's
	for _, test := range []struct {
		gogc                  string
		configuredMiB, memory int64
		want                  int64
	}{
		{"", 0, 1 << 29, 32 << 20}, {"", 0, 64 << 30, 192 << 20}, {"", 0, 0, 192 << 20}, {"", 7, 1 << 30, 7 << 20}, {"100", 7, 1 << 30, 0},
	} {
		t.Setenv("GOGC", test.gogc)
		if got := gcHeadroom(test.configuredMiB, test.memory); got != test.want {
			t.Errorf("GOGC=%s, %d MiB of %d: %d, want %d", test.gogc, test.configuredMiB, test.memory, got, test.want)
		}
	}
}

// The next collection is due after the configured headroom, or when the heap has doubled,
// whichever is later.
func TestGCPercentageLeavesTheHeadroom(t *testing.T) {
	t.Parallel()
	tuner := gcTuner{headroom: 64 << 20}
	for name, test := range map[string]struct {
		live float64
		want int
	}{
		"nothing": {0, 1600}, "little": {1 << 20, 1600}, "some": {16 << 20, 400},
		"half": {32 << 20, 200}, "as much": {64 << 20, 100}, "more": {500 << 20, 100},
	} {
		if got := tuner.percentFor(test.live); got != test.want {
			t.Errorf("live heap %q: %d%%, want %d%%", name, got, test.want)
		}
	}
}

// The collector waits longer while the heap is small. With a large live heap the percentage is
// the default again, and also after the end.
func TestGCTunerSetsThePercentageAndRestoresIt(t *testing.T) { //nolint:paralleltest // the heap is the process's
	stop := startGCTuner(1 << 30)
	if percent := currentGCPercent(); percent < 1000 {
		t.Errorf("at first %d%%", percent)
	}
	const ballastBytes = 128 << 20
	ballast := make([]byte, ballastBytes)
	for i := 0; i < ballastBytes; i += 4096 {
		ballast[i] = 1
	}
	for deadline := time.Now().Add(20 * time.Second); currentGCPercent() > (1<<30)/(ballastBytes/100); runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("the tuner has not used the live heap")
		}
	}
	runtime.KeepAlive(ballast)
	stop()
	if percent := currentGCPercent(); percent != defaultGCPercent {
		t.Errorf("in the end %d%%", percent)
	}
	startGCTuner(0)()
	if percent := currentGCPercent(); percent != defaultGCPercent {
		t.Errorf("without a headroom %d%%", percent)
	}
}

// currentGCPercent returns the GC percentage in force.
func currentGCPercent() int { return int(testenv.RuntimeMetric("/gc/gogc:percent")) }
