package overload

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func newTestGauge() prometheus.Gauge { return prometheus.NewGauge(prometheus.GaugeOpts{Name: "value"}) }

// fakeSignal is a signal that a test sets.
type fakeSignal struct{ value atomic.Uint64 }

func (s *fakeSignal) set(value float64) { s.value.Store(math.Float64bits(value)) }

func (s *fakeSignal) newSignal(riseAfter int) signal {
	return signal{gauge: newTestGauge(), read: func() float64 { return math.Float64frombits(s.value.Load()) }, thresholds: [maxLevel]float64{1, 2, 3, 4, 5}, riseAfter: riseAfter}
}

func newTestShedder(config ShedderConfig, signals ...signal) *Shedder {
	config.Registry = prometheus.NewRegistry()
	shedder := NewShedder(config)
	shedder.signals = append(shedder.signals, signals...)
	return shedder
}

// Each level refuses what the level below refuses and more; level 0 refuses nothing.
func TestEachLevelRefusesMoreKinds(t *testing.T) {
	t.Parallel()
	var load fakeSignal
	shedder := newTestShedder(ShedderConfig{}, load.newSignal(0))
	kinds := []Kind{Reading, Watching, NewGuests, NewSessions, Joining, ClosingIdle}
	for level, want := range [][]Kind{nil, kinds[:2], kinds[:3], kinds[:4], kinds[:5], kinds} {
		load.set(float64(level))
		shedder.update()
		var refused []Kind
		for _, kind := range kinds {
			err := shedder.Check(kind)
			var refusal *protocol.Error
			switch {
			case err == nil:
			case !errors.As(err, &refusal) || refusal.Code != protocol.CodeOverloaded || refusal.RetryAfterMS < 2000:
				t.Errorf("%s is refused with %v", kind, err)
			default:
				refused = append(refused, kind)
			}
		}
		if !slices.Equal(refused, want) || shedder.level.Load() != int32(level) {
			t.Errorf("level %d: %v refused, want %v", shedder.level.Load(), refused, want)
		}
	}
	if n := testutil.ToFloat64(shedder.metrics.refused.WithLabelValues(string(Reading))); n != 5 {
		t.Errorf("%v refusals of reading counted", n)
	}
	if n := testutil.ToFloat64(shedder.metrics.level); n != 5 {
		t.Errorf("level %v shown", n)
	}
}

// In dry run all is counted, and nothing is refused or closed.
func TestDryRunRefusesNothing(t *testing.T) {
	t.Parallel()
	var load fakeSignal
	load.set(5)
	shedder := newTestShedder(ShedderConfig{DryRun: true, CloseIdle: func() int { t.Error("sessions were closed"); return 0 }}, load.newSignal(0))
	shedder.update()
	if err := shedder.Check(Reading); err != nil {
		t.Error(err)
	}
	if testutil.ToFloat64(shedder.metrics.wouldRefuse.WithLabelValues(string(Reading))) != 1 || testutil.ToFloat64(shedder.metrics.wouldRefuse.WithLabelValues(string(ClosingIdle))) != 1 || testutil.ToFloat64(shedder.metrics.refused.WithLabelValues(string(Reading))) != 0 {
		t.Error("the refusals are counted wrong")
	}
}

// A signal rises to the level of its value after riseAfter updates. It falls step by
// step when it has been well below its level for a while, and stays where it only
// wavers.
func TestSignalRisesAndFallsWithDelay(t *testing.T) {
	t.Parallel()
	var load fakeSignal
	state := load.newSignal(3)
	for i, step := range []struct {
		value   float64
		updates int
		want    int
	}{
		{3.5, 2, 0}, // not long enough
		{0, 1, 0},   //
		{3.5, 2, 0}, // the count starts again
		{3.5, 1, 3}, //
		{2.8, 9, 3}, // below, but not well below
		{2.6, 4, 3}, // not long enough
		{2.8, 1, 3}, //
		{2.6, 5, 2}, // one level down
		{0, 5, 1},   //
		{0, 5, 0},   //
		{0, 9, 0},   //
		{9, 3, 5},   // directly to the top level
	} {
		load.set(step.value)
		for range step.updates {
			state.update()
		}
		if state.level != step.want {
			t.Fatalf("step %d: level %d, want %d", i, state.level, step.want)
		}
	}
}

// The level is the highest of the signals' levels. Only the top level closes idle
// sessions, at each update.
func TestHighestSignalIsTheLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var signalA, signalB fakeSignal
		shedder := newTestShedder(ShedderConfig{CloseIdle: func() int { return 3 }}, signalA.newSignal(0), signalB.newSignal(0))
		testenv.Run(t, shedder.Run)
		signalA.set(4)
		signalB.set(1)
		time.Sleep(levelUpdateInterval + time.Millisecond)
		synctest.Wait()
		if shedder.level.Load() != 4 || testutil.ToFloat64(shedder.metrics.refused.WithLabelValues(string(ClosingIdle))) != 0 {
			t.Errorf("level %d, %v closed", shedder.level.Load(), testutil.ToFloat64(shedder.metrics.refused.WithLabelValues(string(ClosingIdle))))
		}
		signalB.set(5)
		time.Sleep(2 * levelUpdateInterval)
		synctest.Wait()
		if shedder.level.Load() != 5 || testutil.ToFloat64(shedder.metrics.refused.WithLabelValues(string(ClosingIdle))) != 6 {
			t.Errorf("level %d, %v closed", shedder.level.Load(), testutil.ToFloat64(shedder.metrics.refused.WithLabelValues(string(ClosingIdle))))
		}
	})
}

// Live memory counts against the limit. Freed memory stops counting, even if nothing
// else runs the garbage collector. With little memory in use no collection is forced.
func TestMemorySignalReadsTheMemoryInUse(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const limit = 1 << 26
	memory := newMemorySignal(limit, newTestGauge())
	liveMemory := make([]byte, 48<<20)
	for i := 0; i < len(liveMemory); i += 4096 {
		liveMemory[i] = 1
	}
	runtime.GC()
	highValue := memory.read()
	if highValue < 0.75 || liveMemory[0] != 1 {
		t.Errorf("%v with three quarters in use", highValue)
	}
	lowestValue := highValue // liveMemory is not used from here on, so the collector can free it
	for range 3 * forceGCAfterReads {
		lowestValue = min(lowestValue, memory.read())
	}
	if lowestValue > highValue-0.7 {
		t.Errorf("from %v to %v after three quarters were freed", highValue, lowestValue)
	}
	const forcedGCs = "/gc/cycles/forced:gc-cycles"
	before := testenv.RuntimeMetric(forcedGCs)
	for range 3 * forceGCAfterReads {
		memory.read()
	}
	if n := testenv.RuntimeMetric(forcedGCs) - before; n > 0 {
		t.Errorf("%d collections with %v in use", n, lowestValue)
	}
}

// The lag is measured since the last read; without samples it is 0.
func TestLagSignalReadsTheSchedulerLag(t *testing.T) {
	t.Parallel()
	lag := newLagSignal(250*time.Millisecond, newTestGauge())
	if want := [maxLevel]float64{.25, .5, 1, 2, math.Inf(1)}; lag.thresholds != want {
		t.Errorf("thresholds %v", lag.thresholds)
	}
	for range 3 {
		if v := lag.read(); v < 0 || v > 60 || math.IsNaN(v) {
			t.Errorf("%v", v)
		}
	}
}

// MaxRequests limits the requests under way. Their number is also a signal of load.
func TestConcurrentRequestsAreLimited(t *testing.T) {
	t.Parallel()
	shedder := newTestShedder(ShedderConfig{MaxRequests: 10})
	var release func()
	for range 10 {
		var err error
		if release, err = shedder.Acquire(Requests); err != nil {
			t.Fatal(err)
		}
	}
	var refusal *protocol.Error
	if _, err := shedder.Acquire(Requests); !errors.As(err, &refusal) || refusal.Code != protocol.CodeOverloaded || testutil.ToFloat64(shedder.metrics.refused.WithLabelValues(string(Requests))) != 1 {
		t.Errorf("the eleventh request: %v", err)
	}
	shedder.update()
	shedder.update()
	if shedder.level.Load() != 4 {
		t.Errorf("level %d", shedder.level.Load())
	}
	release()
	if _, err := shedder.Acquire(Requests); err != nil {
		t.Errorf("after another request has ended: %v", err)
	}
}
