package loadshed

import "math"

// limitController computes how many players a node accepts. It is a control loop on the
// scheduler lag, with feedforward from the use of the processors. A new player causes
// load only some seconds later. A limit that followed the lag alone would accept far
// too many, and then no player for long. For the same reason the controller uses means
// over two seconds, and small steps: one sample may be a burst or a garbage collection.
//
// Example: 1,000 players use 95% of the processors, with some lag. The goal is 1000 ×
// 0.85 / 0.95 = 894. The limit falls by 1% per update to 894.
type limitController struct {
	minimum float64 // so many players are always accepted

	limit      float64             // current limit, +Inf for none
	history    [historySize]sample // a ring of the last samples
	next       int                 // index of the oldest sample
	overloaded int                 // updates in a row with too much lag
	sinceFloor int                 // updates since floorValue was set
	floorValue float64             // limit does not fall below it; 0 if not set
}

// sample is what one update measured.
type sample struct{ players, busy float64 }

const (
	historySize     = 8    // length of the mean, and updates until a new player causes its full load
	overloadedAfter = 2    // updates in a row with too much lag before the limit falls
	lowBusy         = 0.5  // mean use of the processors below which there is no limit
	targetBusy      = 0.85 // use of the processors that the limit aims at
	nearLimit       = 0.95 // the limit may grow when this share of it is in use
	moderateLag     = 0.5  // share of the maximal lag above which busy processors lower the limit
	shrinkFactor    = 0.97 // factor of the limit per update with too much lag
	smallStep       = 0.01 // growth per update without lag; also the fall with busy processors
	maxGrowth       = 0.05 // largest growth per update
	firstHeadroom   = 0.3  // players above the current ones when a limit is first set
	floorPeriod     = 240  // updates (60 s) in which the limit falls to no less than half of the players
)

func newLimitController(minimum int64) limitController {
	return limitController{minimum: float64(minimum), limit: math.Inf(1)}
}

// update computes the limit, four times a second. lag is the scheduler lag as a share
// of its maximum. busy is the use of the processors since the last update.
func (c *limitController) update(lag, busy float64, players int64) float64 {
	current := float64(players)
	earlier := min(c.history[c.next].players, current)
	c.history[c.next] = sample{current, busy}
	c.next = (c.next + 1) % historySize
	c.sinceFloor++
	if lag < 1 {
		c.overloaded = 0
		c.adapt(earlier, current, busy, lag)
	} else if c.overloaded++; c.overloaded >= overloadedAfter {
		c.shrink(current)
	}
	return c.limit
}

// shrink lowers the limit below the players when the lag began. Refusing players does
// not end the load of other programs on the machine, so half of the players stay for a
// while, whatever the lag.
func (c *limitController) shrink(players float64) {
	if c.sinceFloor >= floorPeriod {
		c.floorValue = 0
	}
	if c.overloaded == overloadedAfter {
		c.limit = min(c.limit, players)
	}
	c.limit = max(c.limit*shrinkFactor, c.floor(players))
}

// floor returns half of the players, or of those when it was first called.
func (c *limitController) floor(players float64) float64 {
	if c.floorValue == 0 {
		c.sinceFloor = 0
	}
	c.floorValue = max(c.floorValue, players/2, c.minimum)
	return c.floorValue
}

// adapt moves the limit to the players that the processors can serve, from the load of
// those who have been there for a while. Beyond that it adds some more, the fewer the
// closer the lag is to its maximum. It lowers the limit only with some lag, and to half
// of the players at least: other load on the processors may well give way.
func (c *limitController) adapt(earlier, players, latestBusy, lag float64) {
	busy := c.meanBusy()
	goal := earlier * targetBusy / max(busy, lowBusy)
	switch {
	case busy < lowBusy && latestBusy < targetBusy:
		c.limit, c.floorValue = math.Inf(1), 0
		return
	case math.IsInf(c.limit, 1):
		c.limit = max(players, min(goal, players*(1+firstHeadroom)))
	}
	if busy > targetBusy && lag >= moderateLag {
		c.limit = max(min(c.limit, max(goal, c.limit*(1-smallStep))), c.floor(players))
		return
	}
	if players >= nearLimit*c.limit {
		goal = max(goal, c.limit*(1+smallStep*(1-lag)*(1-lag)))
	}
	c.limit = max(c.limit, min(goal, c.limit*(1+maxGrowth)), c.minimum)
}

// meanBusy returns the mean of the last samples.
func (c *limitController) meanBusy() (mean float64) {
	for _, s := range c.history {
		mean += s.busy / historySize
	}
	return mean
}
