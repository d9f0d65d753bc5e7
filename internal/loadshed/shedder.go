package loadshed

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/protocol"
)

// Kind is a kind of work that an overloaded node refuses.
type Kind string

// The kinds in the order in which they are refused.
const (
	Reading     Kind = "reading"  // of leaderboards, players and matches, without a token
	Watching    Kind = "watching" // of leaderboards and arenas
	NewGuests   Kind = "guests"   // creating guests
	NewSessions Kind = "entering" // hellos of players who are in no match
	Joining     Kind = "joining"  // of duels and arenas, and creating arenas
	ClosingIdle Kind = "idling"   // idle sessions are closed

	Requests Kind = "requests" // any HTTP request, while Config.MaxRequests are under way
	Duels    Kind = "duels"    // players beyond DuelLimit
)

// Levels is the highest level.
const Levels = 5

// shedLevels are the levels from which on each kind is refused. MaxInt32 means that the
// level does not matter.
var shedLevels = map[Kind]int32{Reading: 1, Watching: 1, NewGuests: 2, NewSessions: 3, Joining: 4, ClosingIdle: 5, Requests: math.MaxInt32, Duels: math.MaxInt32}

// Config configures a Shedder.
type Config struct {
	Signals     []Signal
	MaxRequests int64      // HTTP requests that may be under way at once, also a signal; 0 for any number
	DryRun      bool       // refusals are counted, but not made
	CloseIdle   func() int // closes some idle sessions and returns how many; nil for none
	Registry    prometheus.Registerer
}

// Shedder decides which work an overloaded node refuses. All methods but Run are safe
// for concurrent use.
type Shedder struct {
	Config
	level    atomic.Int32
	requests atomic.Int64
	signals  []signalState
	metrics  *shedMetrics
}

// New makes a shedder. It refuses nothing until Run has measured.
func New(c Config) *Shedder {
	s := &Shedder{Config: c, metrics: newShedMetrics(c.Registry)}
	if c.MaxRequests > 0 {
		c.Signals = append(c.Signals, Signal{
			Name: "requests", Thresholds: [Levels]float64{.5, .7, .8, .9, math.Inf(1)}, RiseAfter: 2,
			Read: func() float64 { return float64(s.requests.Load()) / float64(c.MaxRequests) },
		})
	}
	for _, signal := range c.Signals {
		s.signals = append(s.signals, signalState{Signal: signal})
	}
	return s
}

// Level returns the load level: 0 refuses nothing, Levels is the highest.
func (s *Shedder) Level() int { return int(s.level.Load()) }

// ShouldShed returns true if a kind is refused at the current level.
func (s *Shedder) ShouldShed(kind Kind) bool { return s.level.Load() >= shedLevels[kind] }

// Check refuses a kind of work at the current level. The refusal is a *protocol.Error
// with code overloaded and a random retry time.
func (s *Shedder) Check(kind Kind) error {
	if !s.ShouldShed(kind) {
		return nil
	}
	return s.refuse(kind)
}

// AcquireRequest begins an HTTP request, which ends with ReleaseRequest, or refuses it:
// too many are under way.
func (s *Shedder) AcquireRequest() error {
	if s.requests.Add(1) <= s.MaxRequests || s.MaxRequests == 0 {
		return nil
	}
	err := s.refuse(Requests)
	if err != nil {
		s.ReleaseRequest()
	}
	return err
}

// ReleaseRequest ends a request.
func (s *Shedder) ReleaseRequest() { s.requests.Add(-1) }

func (s *Shedder) refuse(kind Kind) error { return s.refuseFor(kind, retryDelay()) }

func (s *Shedder) refuseFor(kind Kind, retryMS int64) error {
	if s.DryRun {
		s.metrics.wouldShed[kind].Inc()
		return nil
	}
	s.metrics.shed[kind].Inc()
	return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "server is overloaded; try again in some seconds")
}

// retryDelay returns a random retry time of 2 to 5 s, in ms.
func retryDelay() int64 { return 2000 + rand.Int64N(3000) } //nolint:gosec // a delay is no secret

// updateEvery is how often the level is computed.
const updateEvery = time.Second

// Run computes the level once a second until ctx ends. It returns nil.
func (s *Shedder) Run(ctx context.Context) error { return runEvery(ctx, updateEvery, s.update) }

func runEvery(ctx context.Context, pause time.Duration, update func()) error {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			update()
		}
	}
}

func (s *Shedder) update() {
	level := 0
	for i := range s.signals {
		signal := &s.signals[i]
		signal.update()
		level = max(level, signal.level)
		s.metrics.setSignal(signal.Signal, signal.value)
	}
	s.level.Store(int32(level))
	s.metrics.level.Set(float64(level))
	if int32(level) < shedLevels[ClosingIdle] || s.CloseIdle == nil {
		return
	}
	if s.DryRun {
		s.metrics.wouldShed[ClosingIdle].Inc()
		return
	}
	s.metrics.shed[ClosingIdle].Add(float64(s.CloseIdle()))
}
