package loadshed

import (
	"context"
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

// fakeSignal is a signal that a test sets.
type fakeSignal struct{ value atomic.Uint64 }

func (d *fakeSignal) set(value float64) { d.value.Store(math.Float64bits(value)) }

func (d *fakeSignal) signal(steady int) Signal {
	return Signal{Name: "fake", Read: func() float64 { return math.Float64frombits(d.value.Load()) }, Thresholds: [MaxLevel]float64{1, 2, 3, 4, 5}, RiseAfter: steady}
}

func newTestShedder(c Config) *Shedder {
	c.Registry = prometheus.NewRegistry()
	return New(c)
}

// Each level refuses what the level below refuses and more; level 0 refuses nothing.
func TestEachLevelRefusesMoreKinds(t *testing.T) {
	t.Parallel()
	var d fakeSignal
	g := newTestShedder(Config{Signals: []Signal{d.signal(0)}})
	all := []Kind{Reading, Watching, NewGuests, NewSessions, Joining, ClosingIdle}
	for level, want := range [][]Kind{nil, all[:2], all[:3], all[:4], all[:5], all} {
		d.set(float64(level))
		g.update()
		var refused []Kind
		for _, kind := range all {
			err := g.Check(kind)
			var reported *protocol.Error
			switch {
			case err == nil:
			case !errors.As(err, &reported) || reported.Code != protocol.CodeOverloaded || reported.RetryAfterMS < 2000:
				t.Errorf("%s is refused with %v", kind, err)
			default:
				refused = append(refused, kind)
			}
		}
		if !slices.Equal(refused, want) || g.Level() != level {
			t.Errorf("level %d: %v refused, want %v", g.Level(), refused, want)
		}
	}
	if n := testutil.ToFloat64(g.metrics.refused[Reading]); n != 5 {
		t.Errorf("%v refusals of reading counted", n)
	}
	if n := testutil.ToFloat64(g.metrics.level); n != 5 {
		t.Errorf("level %v shown", n)
	}
}

// In dry run all is counted, and nothing is refused or closed.
func TestDryRunRefusesNothing(t *testing.T) {
	t.Parallel()
	var d fakeSignal
	d.set(5)
	g := newTestShedder(Config{Signals: []Signal{d.signal(0)}, DryRun: true, CloseIdle: func() int { t.Error("sessions were closed"); return 0 }})
	g.update()
	if err := g.Check(Reading); err != nil {
		t.Error(err)
	}
	if testutil.ToFloat64(g.metrics.wouldRefuse[Reading]) != 1 || testutil.ToFloat64(g.metrics.wouldRefuse[ClosingIdle]) != 1 || testutil.ToFloat64(g.metrics.refused[Reading]) != 0 {
		t.Error("the refusals are counted wrong")
	}
}

// A signal rises to the level of its value after RiseAfter updates. It falls step by
// step when it has been well below its level for a while, and stays where it only
// wavers.
func TestASignalRisesAndFallsWithDelay(t *testing.T) {
	t.Parallel()
	var d fakeSignal
	s := signalState{Signal: d.signal(3)}
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
		d.set(step.value)
		for range step.updates {
			s.update()
		}
		if s.level != step.want {
			t.Fatalf("step %d: level %d, want %d", i, s.level, step.want)
		}
	}
}

// The level is the highest of the signals' levels. Only the top level closes idle
// sessions, at each update.
func TestHighestSignalIsTheLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a, b fakeSignal
		g := newTestShedder(Config{Signals: []Signal{a.signal(0), b.signal(0)}, CloseIdle: func() int { return 3 }})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- g.Run(ctx) }()
		a.set(4)
		b.set(1)
		time.Sleep(levelUpdateInterval + time.Millisecond)
		synctest.Wait()
		if g.Level() != 4 || testutil.ToFloat64(g.metrics.refused[ClosingIdle]) != 0 {
			t.Errorf("level %d, %v closed", g.Level(), testutil.ToFloat64(g.metrics.refused[ClosingIdle]))
		}
		b.set(5)
		time.Sleep(2 * levelUpdateInterval)
		synctest.Wait()
		if g.Level() != 5 || testutil.ToFloat64(g.metrics.refused[ClosingIdle]) != 6 {
			t.Errorf("level %d, %v closed", g.Level(), testutil.ToFloat64(g.metrics.refused[ClosingIdle]))
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Live memory counts against the limit. Freed memory stops counting, even if nothing
// else runs the garbage collector. With little memory in use no collection is forced.
func TestMemorySignalReadsTheMemoryInUse(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const limit = 1 << 26
	s := MemorySignal(limit)
	held := make([]byte, 48<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	runtime.GC()
	risen := s.Read()
	if risen < 0.75 || held[0] != 1 {
		t.Errorf("%v with three quarters in use", risen)
	}
	fallen := risen // held is not used from here on
	for range 3 * forceGCAfterReads {
		fallen = min(fallen, s.Read())
	}
	if fallen > risen-0.7 {
		t.Errorf("from %v to %v after three quarters were freed", risen, fallen)
	}
	const forced = "/gc/cycles/forced:gc-cycles"
	before := testenv.RuntimeMetric(forced)
	for range 3 * forceGCAfterReads {
		s.Read()
	}
	if n := testenv.RuntimeMetric(forced) - before; n > 0 {
		t.Errorf("%d collections with %v in use", n, fallen)
	}
}

// The lag is measured since the last read; without samples it is 0.
func TestLagSignalReadsTheSchedulerLag(t *testing.T) {
	t.Parallel()
	s := LagSignal(250 * time.Millisecond)
	if want := [MaxLevel]float64{.25, .5, 1, 2, math.Inf(1)}; s.Thresholds != want {
		t.Errorf("thresholds %v", s.Thresholds)
	}
	for range 3 {
		if v := s.Read(); v < 0 || v > 60 || math.IsNaN(v) {
			t.Errorf("%v", v)
		}
	}
}

// MaxRequests limits the requests under way. Their number is also a signal of load.
func TestConcurrentRequestsAreLimited(t *testing.T) {
	t.Parallel()
	g := newTestShedder(Config{MaxRequests: 10})
	for range 10 {
		if err := g.AcquireRequest(); err != nil {
			t.Fatal(err)
		}
	}
	var reported *protocol.Error
	if err := g.AcquireRequest(); !errors.As(err, &reported) || reported.Code != protocol.CodeOverloaded || testutil.ToFloat64(g.metrics.refused[Requests]) != 1 {
		t.Errorf("the eleventh request: %v", err)
	}
	g.update()
	g.update()
	if g.Level() != 4 {
		t.Errorf("level %d", g.Level())
	}
	g.ReleaseRequest()
	if err := g.AcquireRequest(); err != nil {
		t.Errorf("after another request has ended: %v", err)
	}
}

// BenchmarkCheck measures a check at level 0.
func BenchmarkCheck(b *testing.B) {
	g := newTestShedder(Config{})
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Check(Joining); err != nil {
			b.Fatal(err)
		}
	}
}
