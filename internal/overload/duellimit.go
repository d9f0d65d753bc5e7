package overload

import (
	"math"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// duelLimit limits the number of duel players at a node. While the processors have spare
// time, it accepts all. Otherwise it accepts only as many players as the processors can
// serve; see limitController. So the node refuses new players before duels become slow.
type duelLimit struct {
	concurrencyLimit                // held: players between Acquire and its release
	readLag          func() float64 // returns the scheduler lag since its previous call, in seconds
	maxLag           float64        // lag in seconds at which players are refused
	controller       limitController
	gauge            prometheus.Gauge
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

func (d *duelLimit) init(maxLag time.Duration, gauge prometheus.Gauge) {
	d.readLag, d.maxLag = newLagReader().read, max(maxLag/duelLagDivisor, minDuelLag).Seconds()
	d.controller = limitController{minPlayers: float64(minPlayersPerProcessor * runtime.GOMAXPROCS(0)), limit: math.Inf(1)}
	d.gauge = gauge
	d.set(d.controller.limit)
}

func (d *duelLimit) set(limit float64) {
	d.gauge.Set(limit)
	d.max.Store(int64(min(limit, math.MaxInt64/2)))
}
