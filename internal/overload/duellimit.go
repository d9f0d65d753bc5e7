package overload

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/loop"
)

// DuelLimitConfig configures a DuelLimit. Both functions measure the time since their
// previous call. Only one goroutine calls them.
type DuelLimitConfig struct {
	ReadLag    func() float64 // returns the scheduler lag in seconds, see LagSignal
	ReadBusy   func() float64 // returns the share of the processors in use, 0 to 1
	MaxLag     float64        // lag in seconds at which players are refused, 0 for no limit
	MinPlayers int64          // the limit is never below this number of players
}

// DuelLimit limits the number of duel players at a node. While the processors have spare
// time, it accepts all. Otherwise it accepts only as many players as the processors can
// serve; see limitController. So it refuses new players before duels become slow. All
// methods except Run are safe for concurrent use.
type DuelLimit struct {
	DuelLimitConfig
	shedder    *Shedder
	players    atomic.Int64
	limit      atomic.Int64
	admissions admissionQueue
	controller limitController // only update uses it
	limitGauge prometheus.Gauge
}

const (
	duelUpdateInterval     = 250 * time.Millisecond
	minPlayersPerProcessor = 100
	duelRetryFactor        = 2 // factor of the retry time of refused duel requests, because most requests of a spike are these
)

// NewDuelLimit returns the duel limit of a node. It refuses players when the scheduler lag
// is maxLag or more; maxLag 0 accepts all. It makes refusals with the shedder. readBusy
// returns the share of the processors in use, see DuelLimitConfig.
func NewDuelLimit(shedder *Shedder, maxLag time.Duration, readBusy func() float64) *DuelLimit {
	minPlayers := minPlayersPerProcessor * int64(runtime.GOMAXPROCS(0))
	return newDuelLimit(shedder, DuelLimitConfig{ReadLag: newLagReader().read, ReadBusy: readBusy, MaxLag: maxLag.Seconds(), MinPlayers: minPlayers})
}

func newDuelLimit(shedder *Shedder, config DuelLimitConfig) *DuelLimit {
	duelLimit := &DuelLimit{DuelLimitConfig: config, shedder: shedder, controller: newLimitController(config.MinPlayers)}
	duelLimit.admissions = admissionQueue{perSecond: math.Inf(1), minPerSecond: minHellosPerProcessor * float64(runtime.GOMAXPROCS(0))}
	duelLimit.limit.Store(math.MaxInt64)
	factory := promauto.With(shedder.Registry)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_duel_players", Help: "Players at this node who play a duel or wait for one.",
	}, func() float64 { return float64(duelLimit.players.Load()) })
	duelLimit.limitGauge = factory.NewGauge(prometheus.GaugeOpts{
		Name: "laststand_duel_players_limit", Help: "Players for whom this node has capacity in duels now; +Inf means all.",
	})
	duelLimit.limitGauge.Set(duelLimit.controller.limit)
	return duelLimit
}

// Acquire counts a player until Release, or returns the refusal.
func (d *DuelLimit) Acquire() error {
	if d.players.Add(1) <= d.limit.Load() {
		return nil
	}
	err := d.shedder.refuseFor(Duels, duelRetryFactor*randomRetryMS())
	if err != nil {
		d.Release()
	}
	return err
}

// Add counts a player until Release, even above the limit: a player whose duel has started
// is not refused.
func (d *DuelLimit) Add() { d.players.Add(1) }

// Release stops counting a player.
func (d *DuelLimit) Release() { d.players.Add(-1) }

// Run updates the limit four times a second until ctx ends. It returns nil.
func (d *DuelLimit) Run(ctx context.Context) error {
	if d.MaxLag > 0 {
		loop.Every(ctx, duelUpdateInterval, func(context.Context) { d.update() })
	}
	return nil
}

func (d *DuelLimit) update() {
	lag, busy := d.ReadLag()/d.MaxLag, d.ReadBusy()
	d.admissions.adaptRate(lag >= 1 || lag >= 0.5 && busy >= highBusy)
	limit := d.controller.update(lag, busy, d.players.Load())
	d.limitGauge.Set(limit)
	d.limit.Store(int64(min(limit, math.MaxInt64/2)))
}
