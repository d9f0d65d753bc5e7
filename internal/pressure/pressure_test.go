package pressure

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
	"laststand/internal/trial"
)

func TestMain(m *testing.M) { trial.Main(m) }

// dial is a signal that a test sets.
type dial struct{ value atomic.Uint64 }

func (d *dial) set(value float64) { d.value.Store(math.Float64bits(value)) }

func (d *dial) signal(steady int) Signal {
	return Signal{Name: "dial", Read: func() float64 { return math.Float64frombits(d.value.Load()) }, From: [Levels]float64{1, 2, 3, 4, 5}, Steady: steady}
}

func gauge(c Config) *Gauge {
	c.Registry = prometheus.NewRegistry()
	return New(c)
}

// What is refused at each level: each one's is the former's and more, and a calm
// node refuses nothing.
func TestOrder(t *testing.T) {
	t.Parallel()
	var d dial
	g := gauge(Config{Signals: []Signal{d.signal(0)}})
	all := []What{Reading, Watching, Guests, Entering, Joining, Idling}
	for level, want := range [][]What{nil, all[:2], all[:3], all[:4], all[:5], all} {
		d.set(float64(level))
		g.look()
		var refused []What
		for _, w := range all {
			err := g.Refuse(w)
			var told *protocol.Error
			switch {
			case err == nil:
			case !errors.As(err, &told) || told.Code != protocol.CodeOverloaded || told.RetryAfterMS < 2000:
				t.Errorf("%s is refused with %v", w, err)
			default:
				refused = append(refused, w)
			}
		}
		if !slices.Equal(refused, want) || g.Level() != level {
			t.Errorf("level %d: %v refused, want %v", g.Level(), refused, want)
		}
	}
	if n := testutil.ToFloat64(g.told.shed[Reading]); n != 5 {
		t.Errorf("%v refusals of reading counted", n)
	}
	if n := testutil.ToFloat64(g.told.level); n != 5 {
		t.Errorf("level %v shown", n)
	}
}

// On trial all is counted and nothing refused or closed.
func TestTrial(t *testing.T) {
	t.Parallel()
	var d dial
	d.set(5)
	g := gauge(Config{Signals: []Signal{d.signal(0)}, Trial: true, Relieve: func() int { t.Error("sessions were closed"); return 0 }})
	g.look()
	if err := g.Refuse(Reading); err != nil {
		t.Error(err)
	}
	if testutil.ToFloat64(g.told.would[Reading]) != 1 || testutil.ToFloat64(g.told.would[Idling]) != 1 || testutil.ToFloat64(g.told.shed[Reading]) != 0 {
		t.Error("counted otherwise")
	}
}

// A signal rises once it was steady, as far as it says; it falls step by step,
// when it has been well below for a while, and stays where it only wavers.
func TestHysteresis(t *testing.T) {
	t.Parallel()
	var d dial
	s := state{Signal: d.signal(3)}
	for i, step := range []struct {
		value float64
		looks int
		want  int
	}{
		{3.5, 2, 0}, // not steady
		{0, 1, 0},   //
		{3.5, 2, 0}, // from anew
		{3.5, 1, 3}, //
		{2.8, 9, 3}, // below, not well
		{2.6, 4, 3}, // not for long enough
		{2.8, 1, 3}, //
		{2.6, 5, 2}, // one step
		{0, 5, 1},   //
		{0, 5, 0},   //
		{0, 9, 0},   //
		{9, 3, 5},   // at once to the top
	} {
		d.set(step.value)
		for range step.looks {
			s.look()
		}
		if s.level != step.want {
			t.Fatalf("step %d: level %d, want %d", i, s.level, step.want)
		}
	}
}

// The highest of the signals is the level, and only at the top idle sessions go,
// again at each look.
func TestSeveral(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a, b dial
		g := gauge(Config{Signals: []Signal{a.signal(0), b.signal(0)}, Relieve: func() int { return 3 }})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- g.Run(ctx) }()
		a.set(4)
		b.set(1)
		time.Sleep(every + time.Millisecond)
		synctest.Wait()
		if g.Level() != 4 || testutil.ToFloat64(g.told.shed[Idling]) != 0 {
			t.Errorf("level %d, %v closed", g.Level(), testutil.ToFloat64(g.told.shed[Idling]))
		}
		b.set(5)
		time.Sleep(2 * every)
		synctest.Wait()
		if g.Level() != 5 || testutil.ToFloat64(g.told.shed[Idling]) != 6 {
			t.Errorf("level %d, %v closed", g.Level(), testutil.ToFloat64(g.told.shed[Idling]))
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// What is alive counts against the limit, and what has gone does no more, also
// where nothing else collects it; where there is plenty nothing is collected for that.
func TestMemory(t *testing.T) { //nolint:paralleltest // it looks at the memory of the process
	const limit = 1 << 26
	s := Memory(limit)
	held := make([]byte, 48<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	runtime.GC()
	risen := s.Read()
	if risen < 0.75 || held[0] != 1 {
		t.Errorf("%v with three quarters alive", risen)
	}
	fallen := risen // held is not used from here on
	for range 3 * staleAfter {
		fallen = min(fallen, s.Read())
	}
	if fallen > risen-0.7 {
		t.Errorf("from %v to %v with three quarters less", risen, fallen)
	}
	const forced = "/gc/cycles/forced:gc-cycles"
	before := trial.Runtime(forced)
	for range 3 * staleAfter {
		s.Read()
	}
	if n := trial.Runtime(forced) - before; n > 0 {
		t.Errorf("%d collections with %v in use", n, fallen)
	}
}

// The lag is that of the time since the look before: of nothing it is 0.
func TestLag(t *testing.T) {
	t.Parallel()
	s := Lag(250 * time.Millisecond)
	if want := [Levels]float64{.25, .5, 1, 2, math.Inf(1)}; s.From != want {
		t.Errorf("from %v", s.From)
	}
	for range 3 {
		if v := s.Read(); v < 0 || v > 60 || math.IsNaN(v) {
			t.Errorf("%v", v)
		}
	}
}

// Requests are so many at once; more are refused, and they are a signal before
// that.
func TestRequests(t *testing.T) {
	t.Parallel()
	g := gauge(Config{Requests: 10})
	for range 10 {
		if err := g.Enter(); err != nil {
			t.Fatal(err)
		}
	}
	var told *protocol.Error
	if err := g.Enter(); !errors.As(err, &told) || told.Code != protocol.CodeOverloaded || testutil.ToFloat64(g.told.shed[Full]) != 1 {
		t.Errorf("the eleventh: %v", err)
	}
	g.look()
	g.look()
	if g.Level() != 4 {
		t.Errorf("level %d", g.Level())
	}
	g.Leave()
	if err := g.Enter(); err != nil {
		t.Errorf("in the place of one that has ended: %v", err)
	}
}

// BenchmarkRefuse is what it costs a calm node to ask.
func BenchmarkRefuse(b *testing.B) {
	g := gauge(Config{})
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Refuse(Joining); err != nil {
			b.Fatal(err)
		}
	}
}
