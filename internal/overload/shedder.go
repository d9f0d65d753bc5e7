package overload

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/loop"
	"laststand/internal/protocol"
)

// Kind is a kind of work that an overloaded node refuses.
type Kind string

// The kinds in the order in which they are refused.
const (
	Reading     Kind = "reading"  // reading leaderboards, players and matches over HTTP without a token
	Watching    Kind = "watching" // watching leaderboards and arenas
	NewGuests   Kind = "guests"   // creating guests
	NewSessions Kind = "entering" // hellos of players who are in no match
	Joining     Kind = "joining"  // joining duels and arenas, and creating arenas
	ClosingIdle Kind = "idling"   // the node closes idle sessions

	Requests Kind = "requests" // HTTP requests above Config.MaxRequests
	Duels    Kind = "duels"    // duel players above the duel limit
)

// shedLevels holds the lowest level at which each kind is refused. MaxInt32 means that no
// level refuses it.
var shedLevels = map[Kind]int32{Reading: 1, Watching: 1, NewGuests: 2, NewSessions: 3, Joining: 4, ClosingIdle: 5, Requests: math.MaxInt32, Duels: math.MaxInt32}

// ShedderConfig configures a Shedder.
type ShedderConfig struct {
	MemoryLimit int64         // bytes that the node may use; 0: memory is no signal
	MaxLag      time.Duration // scheduler lag of level 1; the duel limit starts far below it; 0: lag is no signal, and duels have no limit
	MaxRequests int64         // HTTP requests that may be under way at the same time, also a signal; 0 for no limit
	DryRun      bool          // refusals are counted, but not made
	CloseIdle   func() int    // closes some idle sessions and returns how many; called once a second at level 5; nil: no sessions are closed
	Registry    prometheus.Registerer

	ReadBusy         func() float64 // returns the share of the processors in use since its previous call, 0 to 1
	CountDuelPlayers func() int64   // returns how many players at this node play a duel or wait for one
}

// Shedder decides which work an overloaded node refuses. All methods except Run are safe
// for concurrent use.
type Shedder struct {
	ShedderConfig
	level    atomic.Int32
	requests atomic.Int64
	signals  []signal
	duels    duelLimit

	levelGauge           prometheus.Gauge
	ratioGauges          *prometheus.GaugeVec // by resource: memory, requests
	lagGauge             prometheus.Gauge
	refused, wouldRefuse *prometheus.CounterVec // by Kind
}

// NewShedder returns a shedder. It refuses nothing before Run has computed a level.
func NewShedder(config ShedderConfig) *Shedder {
	shedder := &Shedder{ShedderConfig: config}
	shedder.registerMetrics()
	shedder.duels.init(config.MaxLag)
	if config.MemoryLimit > 0 {
		shedder.signals = append(shedder.signals, newMemorySignal(config.MemoryLimit))
	}
	if config.MaxLag > 0 {
		shedder.signals = append(shedder.signals, newLagSignal(config.MaxLag))
	}
	if config.MaxRequests > 0 {
		shedder.signals = append(shedder.signals, signal{
			name: "requests", thresholds: [maxLevel]float64{.5, .7, .8, .9, math.Inf(1)}, riseAfter: 2,
			read: func() float64 { return float64(shedder.requests.Load()) / float64(config.MaxRequests) },
		})
	}
	return shedder
}

func (s *Shedder) registerMetrics() {
	factory := promauto.With(s.Registry)
	s.levelGauge = factory.NewGauge(prometheus.GaugeOpts{
		Name: "laststand_load_shed_level", Help: "Load shedding level of the node: 0 (nothing is refused) to 5.",
	})
	s.ratioGauges = factory.NewGaugeVec(prometheus.GaugeOpts{
		Name: "laststand_load_shed_utilization_ratio", Help: "Share of a limit of the node that is in use, by resource.",
	}, []string{"resource"})
	s.lagGauge = factory.NewGauge(prometheus.GaugeOpts{
		Name: "laststand_load_shed_scheduler_lag_seconds", Help: "Time that goroutines wait for a processor, 99th percentile.",
	})
	s.refused = factory.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_load_shed_refusals_total", Help: "Requests that an overloaded node refused, by what; idling counts the sessions that it closed.",
	}, []string{"what"})
	s.wouldRefuse = factory.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_load_shed_dry_run_refusals_total", Help: "Requests that an overloaded node would have refused without the dry run (limits.dry_run), by what; idling counts the rounds in which it would have closed sessions.",
	}, []string{"what"})
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_duel_players", Help: "Players at this node who play a duel or wait for one.",
	}, func() float64 { return float64(s.CountDuelPlayers()) })
	s.duels.gauge = factory.NewGauge(prometheus.GaugeOpts{
		Name: "laststand_duel_players_limit", Help: "Players for whom this node has capacity in duels now; +Inf means all.",
	})
	for kind := range shedLevels { // so that all counters are visible at 0
		s.refused.WithLabelValues(string(kind))
		s.wouldRefuse.WithLabelValues(string(kind))
	}
}

// ShouldShed returns true if a kind is refused at the current level.
func (s *Shedder) ShouldShed(kind Kind) bool { return s.level.Load() >= shedLevels[kind] }

// Check returns nil if a kind of work is allowed at the current level, or in dry run.
// Otherwise it returns a *protocol.Error with code overloaded and a random retry time.
func (s *Shedder) Check(kind Kind) error {
	if !s.ShouldShed(kind) {
		return nil
	}
	return s.refuse(kind, randomRetryMS())
}

// AcquireRequest counts an HTTP request until the caller calls ReleaseRequest. If
// MaxRequests are under way, it returns the refusal, and the caller must not call
// ReleaseRequest.
func (s *Shedder) AcquireRequest() error {
	if s.requests.Add(1) <= s.MaxRequests || s.MaxRequests == 0 {
		return nil
	}
	err := s.refuse(Requests, randomRetryMS())
	if err != nil {
		s.ReleaseRequest()
	}
	return err
}

// ReleaseRequest stops counting an HTTP request.
func (s *Shedder) ReleaseRequest() { s.requests.Add(-1) }

// refuse counts and returns a refusal with a retry time. In dry run it returns nil.
func (s *Shedder) refuse(kind Kind, retryMS int64) error {
	if s.DryRun {
		s.wouldRefuse.WithLabelValues(string(kind)).Inc()
		return nil
	}
	s.refused.WithLabelValues(string(kind)).Inc()
	return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "server is overloaded; try again in some seconds")
}

// randomRetryMS returns a random retry time of 2 to 5 s, in ms.
func randomRetryMS() int64 { return 2000 + rand.Int64N(3000) } //nolint:gosec // a delay is no secret

// levelUpdateInterval is the time between two computations of the level.
const levelUpdateInterval = time.Second

// Run computes the level once a second, and the duel limit four times a second, until ctx
// ends. It returns nil.
func (s *Shedder) Run(ctx context.Context) error {
	var levels sync.WaitGroup // a signal may collect garbage, and the duel limit does not wait for that
	levels.Go(func() { loop.Every(ctx, levelUpdateInterval, func(context.Context) { s.update() }) })
	if s.MaxLag > 0 {
		loop.Every(ctx, duelUpdateInterval, func(context.Context) { s.updateDuelLimit() })
	}
	levels.Wait()
	return nil
}

func (s *Shedder) update() {
	level := 0
	for i := range s.signals {
		signal := &s.signals[i]
		signal.update()
		level = max(level, signal.level)
		if signal.name == lagName {
			s.lagGauge.Set(signal.value)
		} else {
			s.ratioGauges.WithLabelValues(signal.name).Set(signal.value)
		}
	}
	s.level.Store(int32(level))
	s.levelGauge.Set(float64(level))
	switch {
	case !s.ShouldShed(ClosingIdle) || s.CloseIdle == nil:
	case s.DryRun:
		s.wouldRefuse.WithLabelValues(string(ClosingIdle)).Inc()
	default:
		s.refused.WithLabelValues(string(ClosingIdle)).Add(float64(s.CloseIdle()))
	}
}
