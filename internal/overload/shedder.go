package overload

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
	"laststand/internal/protocol"
	"laststand/internal/timer"
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
	signals  []signal
	requests concurrencyLimit
	duels    duelLimit
	hellos   admissionQueue
	metrics  shedderMetrics
}

// NewShedder returns a shedder. It refuses nothing before Run has computed a level.
func NewShedder(config ShedderConfig) *Shedder {
	s := &Shedder{ShedderConfig: config, metrics: newShedderMetrics(config)}
	s.duels.init(config.MaxLag, s.metrics.duelLimit)
	s.hellos.init()
	if config.MemoryLimit > 0 {
		s.signals = append(s.signals, newMemorySignal(config.MemoryLimit, s.metrics.ratios.WithLabelValues("memory")))
	}
	if config.MaxLag > 0 {
		s.signals = append(s.signals, newLagSignal(config.MaxLag, s.metrics.lag))
	}
	s.requests.max.Store(math.MaxInt64)
	if config.MaxRequests > 0 {
		s.requests.max.Store(config.MaxRequests)
		s.signals = append(s.signals, signal{
			gauge: s.metrics.ratios.WithLabelValues("requests"), thresholds: [maxLevel]float64{.5, .7, .8, .9, math.Inf(1)}, riseAfter: 2,
			read: func() float64 { return float64(s.requests.held.Load()) / float64(config.MaxRequests) },
		})
	}
	return s
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

// concurrencyLimit limits the work of a kind that runs at the same time.
type concurrencyLimit struct{ held, max atomic.Int64 }

func (l *concurrencyLimit) release() { l.held.Add(-1) }

// Acquire lets work of the kind Requests or Duels start, or returns the refusal. The caller
// calls release when a request has ended. For a duel it calls release when CountDuelPlayers
// counts the player, or when the join has failed.
func (s *Shedder) Acquire(kind Kind) (release func(), err error) {
	limit, others, retryMS := &s.requests, func() int64 { return 0 }, randomRetryMS()
	if kind == Duels {
		limit, others, retryMS = &s.duels.concurrencyLimit, s.CountDuelPlayers, duelRetryFactor*retryMS
	}
	// Count this one first: a player may move from the joins to the duels in between.
	if limit.held.Add(1)+others() > limit.max.Load() {
		if err := s.refuse(kind, retryMS); err != nil {
			limit.release()
			return nil, err
		}
	}
	return limit.release, nil
}

// AwaitHello waits until a new hello is admitted. If the wait would be too long, it
// returns a refusal with a retry time, as Check does. It returns ctx.Err if ctx ends
// first.
func (s *Shedder) AwaitHello(ctx context.Context) error {
	wait, ok := s.hellos.reserve(time.Now())
	switch {
	case !ok:
		return s.refuse(NewSessions, wait.Milliseconds())
	case wait > 0 && !s.DryRun && !timer.Sleep(ctx, wait):
		return ctx.Err()
	}
	return nil
}

// refuse counts and returns a refusal with a retry time. In dry run it returns nil.
func (s *Shedder) refuse(kind Kind, retryMS int64) error {
	if s.DryRun {
		s.metrics.wouldRefuse.WithLabelValues(string(kind)).Inc()
		return nil
	}
	s.metrics.refused.WithLabelValues(string(kind)).Inc()
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
	levels.Go(func() { timer.Every(ctx, levelUpdateInterval, func(context.Context) { s.update() }) })
	if s.MaxLag > 0 {
		timer.Every(ctx, duelUpdateInterval, func(context.Context) { s.updateLimits() })
	}
	levels.Wait()
	return nil
}

func (s *Shedder) updateLimits() {
	lag, busy := s.duels.readLag()/s.duels.maxLag, s.ReadBusy()
	s.hellos.adaptRate(lag >= 1 || lag >= 0.5 && busy >= highBusy)
	s.duels.set(s.duels.controller.update(lag, busy, s.CountDuelPlayers()))
}

func (s *Shedder) update() {
	level := 0
	for i := range s.signals {
		signal := &s.signals[i]
		signal.update()
		level = max(level, signal.level)
	}
	s.level.Store(int32(level))
	s.metrics.level.Set(float64(level))
	switch {
	case !s.ShouldShed(ClosingIdle) || s.CloseIdle == nil:
	case s.DryRun:
		s.metrics.wouldRefuse.WithLabelValues(string(ClosingIdle)).Inc()
	default:
		s.metrics.refused.WithLabelValues(string(ClosingIdle)).Add(float64(s.CloseIdle()))
	}
}

type shedderMetrics struct {
	level, lag, duelLimit prometheus.Gauge
	ratios                *prometheus.GaugeVec   // by resource: memory, requests
	refused, wouldRefuse  *prometheus.CounterVec // by Kind
}

func newShedderMetrics(config ShedderConfig) shedderMetrics {
	factory := metric.For(config.Registry, "laststand_")
	var kinds []string // so that all counters are visible at 0
	for kind := range shedLevels {
		kinds = append(kinds, string(kind))
	}
	factory.GaugeFunc("duel_players", "Players at this node who play a duel or wait for one.", func() float64 { return float64(config.CountDuelPlayers()) })
	return shedderMetrics{
		level:       factory.Gauge("load_shed_level", "Load shedding level of the node: 0 (nothing is refused) to 5."),
		lag:         factory.Gauge("load_shed_scheduler_lag_seconds", "Time that goroutines wait for a processor, 99th percentile."),
		duelLimit:   factory.Gauge("duel_players_limit", "Players for whom this node has capacity in duels now; +Inf means all."),
		ratios:      factory.Gauges("load_shed_utilization_ratio", "Share of a limit of the node that is in use, by resource.", "resource"),
		refused:     factory.CountersOf("load_shed_refusals_total", "Requests that an overloaded node refused, by what; idling counts the sessions that it closed.", "what", kinds...),
		wouldRefuse: factory.CountersOf("load_shed_dry_run_refusals_total", "Requests that an overloaded node would have refused without the dry run (limits.dry_run), by what; idling counts the rounds in which it would have closed sessions.", "what", kinds...),
	}
}
