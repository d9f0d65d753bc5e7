package overload

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/loop"
)

// duelLimit limits the number of duel players at a node, and how many new hellos it handles
// at the same time. While the processors have spare time, it accepts all. Otherwise it
// accepts only as many players as the processors can serve; see limitController. So it
// refuses new players before duels become slow.
type duelLimit struct {
	readLag    func() float64 // returns the scheduler lag since its previous call, in seconds
	maxLag     float64        // lag in seconds at which players are refused
	joining    atomic.Int64   // players between AcquireDuel and its release
	limit      atomic.Int64
	hellos     admissionQueue
	controller limitController // only updateDuelLimit uses it
	gauge      prometheus.Gauge
}

const (
	// duelLagDivisor divides MaxLag. From the resulting lag on, the node does not increase
	// its number of duels. Duels are many and short, so this limit comes long before the
	// limits on other work. The result is at least minDuelLag, because a shorter lag does
	// not depend on the load.
	duelLagDivisor = 64
	minDuelLag     = 2 * time.Millisecond

	minPlayersPerProcessor = 100
	duelRetryFactor        = 2    // factor of the retry time of refused duel requests, because most requests of a spike are these
	highBusy               = 0.95 // from this share of processor use on, half of the maximum lag is enough to queue hellos
)

func (d *duelLimit) init(maxLag time.Duration) {
	processors := runtime.GOMAXPROCS(0)
	d.readLag, d.maxLag = newLagReader().read, max(maxLag/duelLagDivisor, minDuelLag).Seconds()
	d.hellos.perSecond, d.hellos.minPerSecond = math.Inf(1), minHellosPerProcessor*float64(processors)
	d.controller = newLimitController(minPlayersPerProcessor * int64(processors))
	d.setLimit(d.controller.limit)
}

func (d *duelLimit) setLimit(limit float64) {
	d.gauge.Set(limit)
	d.limit.Store(int64(min(limit, math.MaxInt64/2)))
}

// AcquireDuel lets a player join a duel, or returns the refusal. The caller calls release
// when CountDuelPlayers counts the player, or when the join has failed.
func (s *Shedder) AcquireDuel() (release func(), err error) {
	joining := s.duels.joining.Add(1)
	release = func() { s.duels.joining.Add(-1) }
	if s.CountDuelPlayers()+joining <= s.duels.limit.Load() {
		return release, nil
	}
	if err := s.refuse(Duels, duelRetryFactor*randomRetryMS()); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// AwaitHello waits until a new hello is admitted. If the wait would be too long, it
// returns a refusal with a retry time, as Check does. It returns ctx.Err if ctx ends
// first.
func (s *Shedder) AwaitHello(ctx context.Context) error {
	wait, ok := s.duels.hellos.reserve(time.Now())
	switch {
	case !ok:
		return s.refuse(NewSessions, wait.Milliseconds())
	case wait > 0 && !s.DryRun && !loop.Sleep(ctx, wait):
		return ctx.Err()
	}
	return nil
}

// updateDuelLimit adapts the limit of players and the rate of hellos.
func (s *Shedder) updateDuelLimit() {
	lag, busy := s.duels.readLag()/s.duels.maxLag, s.ReadBusy()
	s.duels.hellos.adaptRate(lag >= 1 || lag >= 0.5 && busy >= highBusy)
	s.duels.setLimit(s.duels.controller.update(lag, busy, s.CountDuelPlayers()))
}
