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

// DuelLimitConfig configures a DuelLimit. ReadLag and ReadBusy measure the time since their
// previous call. Only one goroutine calls them.
type DuelLimitConfig struct {
	ReadLag      func() float64 // returns the scheduler lag in seconds, see LagSignal
	ReadBusy     func() float64 // returns the share of the processors in use, 0 to 1
	CountPlayers func() int64   // returns how many players at this node play a duel or wait for one
	MaxLag       float64        // lag in seconds at which players are refused, 0 for no limit
	MinPlayers   int64          // the limit is never below this number of players
}

// DuelLimit limits the number of duel players at a node, and how many new hellos it handles
// at the same time. While the processors have spare time, it accepts all. Otherwise it
// accepts only as many players as the processors can serve; see limitController. So it
// refuses new players before duels become slow. All methods except Run are safe for
// concurrent use.
type DuelLimit struct {
	DuelLimitConfig
	shedder    *Shedder
	joining    atomic.Int64 // players between Acquire and its release
	limit      atomic.Int64
	hellos     admissionQueue
	controller limitController // only update uses it
	limitGauge prometheus.Gauge
}

const (
	minPlayersPerProcessor = 100
	duelRetryFactor        = 2    // factor of the retry time of refused duel requests, because most requests of a spike are these
	highBusy               = 0.95 // from this share of processor use on, half of the maximum lag is enough to queue hellos
)

// NewDuelLimit returns the duel limit of a node. It refuses players when the scheduler lag
// is maxLag or more; maxLag 0 accepts all. It makes refusals with the shedder. For readBusy
// and countPlayers see DuelLimitConfig.
func NewDuelLimit(shedder *Shedder, maxLag time.Duration, readBusy func() float64, countPlayers func() int64) *DuelLimit {
	return newDuelLimit(shedder, DuelLimitConfig{
		ReadLag: newLagReader().read, ReadBusy: readBusy, CountPlayers: countPlayers, MaxLag: maxLag.Seconds(),
		MinPlayers: minPlayersPerProcessor * int64(runtime.GOMAXPROCS(0)),
	})
}

func newDuelLimit(shedder *Shedder, config DuelLimitConfig) *DuelLimit {
	duelLimit := &DuelLimit{
		DuelLimitConfig: config, shedder: shedder, controller: newLimitController(config.MinPlayers),
		hellos: admissionQueue{perSecond: math.Inf(1), minPerSecond: minHellosPerProcessor * float64(runtime.GOMAXPROCS(0))},
	}
	duelLimit.limit.Store(math.MaxInt64)
	factory := promauto.With(shedder.Registry)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_duel_players", Help: "Players at this node who play a duel or wait for one.",
	}, func() float64 { return float64(config.CountPlayers()) })
	duelLimit.limitGauge = factory.NewGauge(prometheus.GaugeOpts{
		Name: "laststand_duel_players_limit", Help: "Players for whom this node has capacity in duels now; +Inf means all.",
	})
	duelLimit.limitGauge.Set(duelLimit.controller.limit)
	return duelLimit
}

// Acquire lets a player join a duel, or returns the refusal. The caller calls release when
// CountPlayers counts the player, or when the join has failed.
func (d *DuelLimit) Acquire() (release func(), err error) {
	joining := d.joining.Add(1)
	release = func() { d.joining.Add(-1) }
	if d.CountPlayers()+joining <= d.limit.Load() {
		return release, nil
	}
	if err := d.shedder.refuse(Duels, duelRetryFactor*randomRetryMS()); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// AwaitHello waits until a new hello is admitted. If the wait would be too long, it
// returns a refusal with a retry time, as Shedder.Check does. It returns ctx.Err if ctx
// ends first.
func (d *DuelLimit) AwaitHello(ctx context.Context) error {
	wait, ok := d.hellos.reserve(time.Now())
	switch {
	case !ok:
		return d.shedder.refuse(NewSessions, wait.Milliseconds())
	case wait > 0 && !d.shedder.DryRun && !loop.Sleep(ctx, wait):
		return ctx.Err()
	}
	return nil
}

// Run updates the limit four times a second until ctx ends. It returns nil.
func (d *DuelLimit) Run(ctx context.Context) error {
	if d.MaxLag > 0 {
		loop.Every(ctx, duelUpdateInterval, func(context.Context) { d.update() })
	}
	return nil
}

func (d *DuelLimit) update() {
	lag, busy := d.ReadLag()/d.MaxLag, d.ReadBusy()
	d.hellos.adaptRate(lag >= 1 || lag >= 0.5 && busy >= highBusy)
	limit := d.controller.update(lag, busy, d.CountPlayers())
	d.limitGauge.Set(limit)
	d.limit.Store(int64(min(limit, math.MaxInt64/2)))
}
