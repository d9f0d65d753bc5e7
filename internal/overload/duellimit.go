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

// limitController computes how many duel players a node accepts. It controls the scheduler
// lag, and also predicts it from the use of the processors (feedforward). A prediction is
// necessary because a new player causes load only some seconds later. A limit computed
// from the lag alone would accept far too many players, and then none for a long time. The
// controller uses means over two seconds and small steps, since one sample may be a burst
// or a garbage collection. It is not safe for concurrent use.
//
// Example: 1,000 players use 95% of the processors, with some lag. The capacity is 1000 ×
// 0.85 / 0.95 = 894 players. The limit falls by 1% per update to 894.
type limitController struct {
	minPlayers float64 // the limit is never below this number of players

	limit             float64             // current limit, +Inf for none
	history           [historySize]sample // ring buffer of the last samples
	oldest            int                 // index of the oldest sample in history
	overloadedUpdates int                 // consecutive updates with too much lag
	updatesSinceFloor int                 // updates since floor was first set
	floor             float64             // the limit does not fall below this number of players; 0 if not set
}

// sample is the number of players and the processor use that one update measured.
type sample struct{ players, busy float64 }

const (
	historySize        = 8    // updates (2 s) in the mean; a new player causes full load after as many updates
	overloadedAfter    = 2    // consecutive updates with too much lag before the limit falls
	lowBusy            = 0.5  // below this mean use of the processors there is no limit
	targetBusy         = 0.85 // the use of the processors at which the capacity is reached
	nearLimit          = 0.95 // the limit may grow above the capacity when this share of it is in use
	moderateLag        = 0.5  // from this share of the maximum lag on, busy processors lower the limit
	shrinkFactor       = 0.97 // factor of the limit per update with too much lag
	smallStepShare     = 0.01 // share of the limit: growth per update without lag, and fall per update with busy processors
	maxGrowthShare     = 0.05 // share of the limit: largest growth per update
	firstHeadroomShare = 0.3  // share of the current players: room above them when a limit is first set
	floorPeriodUpdates = 240  // updates (60 s) during which the limit stays at half of the players or more
)

// update returns the new limit. Shedder calls it four times a second. lag is the
// scheduler lag divided by its maximum. busy is the use of the processors since the last
// update, 0 to 1.
func (c *limitController) update(lag, busy float64, players int64) float64 {
	currentPlayers := float64(players)
	earlierPlayers := min(c.history[c.oldest].players, currentPlayers)
	c.history[c.oldest] = sample{currentPlayers, busy}
	c.oldest = (c.oldest + 1) % historySize
	c.updatesSinceFloor++
	if lag < 1 {
		c.overloadedUpdates = 0
		c.moveToCapacity(earlierPlayers, currentPlayers, busy, lag)
	} else if c.overloadedUpdates++; c.overloadedUpdates >= overloadedAfter {
		c.lowerForLag(currentPlayers)
	}
	return c.limit
}

// lowerForLag lowers the limit after several updates with too much lag, starting from the
// number of players at that time. Other programs on the machine may cause the lag, and
// refusing players would not end that. So for floorPeriodUpdates the limit stays at half
// of the players or more.
func (c *limitController) lowerForLag(players float64) {
	if c.updatesSinceFloor >= floorPeriodUpdates {
		c.floor = 0
	}
	if c.overloadedUpdates == overloadedAfter {
		c.limit = min(c.limit, players)
	}
	c.limit = max(c.limit*shrinkFactor, c.raiseFloor(players))
}

// raiseFloor raises the floor to half of the current players and returns it. It never
// lowers the floor.
func (c *limitController) raiseFloor(players float64) float64 {
	if c.floor == 0 {
		c.updatesSinceFloor = 0
	}
	c.floor = max(c.floor, players/2, c.minPlayers)
	return c.floor
}

// moveToCapacity moves the limit towards the number of players that the processors can
// serve. It computes this capacity from the load of earlierPlayers, who cause their full
// load by now. If the limit is nearly used, it grows a little above the capacity; with
// more lag it grows less. The limit falls only with moderate lag, and never below half of
// the players: other load on the processors may end by itself.
func (c *limitController) moveToCapacity(earlierPlayers, players, latestBusy, lag float64) {
	busy := c.meanBusy()
	capacity := earlierPlayers * targetBusy / max(busy, lowBusy)
	switch {
	case busy < lowBusy && latestBusy < targetBusy:
		c.limit, c.floor = math.Inf(1), 0
		return
	case math.IsInf(c.limit, 1):
		c.limit = max(players, min(capacity, players*(1+firstHeadroomShare)))
	}
	if busy > targetBusy && lag >= moderateLag {
		c.limit = max(min(c.limit, max(capacity, c.limit*(1-smallStepShare))), c.raiseFloor(players))
		return
	}
	if players >= nearLimit*c.limit {
		capacity = max(capacity, c.limit*(1+smallStepShare*(1-lag)*(1-lag)))
	}
	c.limit = max(c.limit, min(capacity, c.limit*(1+maxGrowthShare)), c.minPlayers)
}

// meanBusy returns the mean processor use of the last samples.
func (c *limitController) meanBusy() (mean float64) {
	for _, measured := range c.history {
		mean += measured.busy / historySize
	}
	return mean
}
