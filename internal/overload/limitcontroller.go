package overload

import "math"

// limitController computes how many duel players a node accepts. It controls the scheduler
// lag, and also predicts it from the use of the processors (feedforward). A prediction is
// necessary because a new player causes load only some seconds later. A limit computed
// from the lag alone would accept far too many players, and then none for a long time. The
// controller uses moving means and small steps, since one sample may be a burst or a
// garbage collection. It is not safe for concurrent use.
//
// Example: 1,000 players use 95% of the processors, with some lag. The capacity is 1000 ×
// 0.85 / 0.95 = 894 players. The limit falls by 1% per update to 894.
type limitController struct {
	minPlayers float64 // the limit is never below this number of players

	limit             float64 // current limit, +Inf for none
	players, busy     float64 // moving means
	overloadedUpdates int     // consecutive updates with too much lag
	floor             float64 // moderate lag lowers the limit no further; 0 if not set
}

const (
	meanUpdates     = 12     // updates (3 s) in a moving mean; a new player causes full load in less time
	overloadedAfter = 2      // consecutive updates with too much lag before the limit falls
	lowBusy         = 0.5    // below this mean use of the processors there is no limit
	targetBusy      = 0.85   // the use of the processors at which the capacity is reached
	nearLimit       = 0.95   // the limit may grow above the capacity when this share of it is in use
	moderateLag     = 0.5    // from this share of the maximum lag on, busy processors lower the limit
	shrinkFactor    = 0.9971 // factor of the limit per update with too much lag: a half in a minute
	smallStepShare  = 0.01   // share of the limit: growth per update without lag, and fall per update with busy processors
	maxGrowthShare  = 0.05   // share of the limit: largest growth per update
)

func newLimitController(minimum int64) limitController {
	return limitController{minPlayers: float64(minimum), limit: math.Inf(1)}
}

// update returns the new limit; Shedder calls it four times a second. lag is the scheduler
// lag divided by its maximum. busy is the use of the processors since the last update, 0 to
// 1.
//
// After several updates with too much lag the limit starts to fall from the number of
// players at that time. It falls slowly. Other programs on the machine may cause the lag,
// and refusing players would not end that.
func (c *limitController) update(lag, busy float64, playerCount int64) float64 {
	players := float64(playerCount)
	c.players += (players - c.players) / meanUpdates
	c.busy += (busy - c.busy) / meanUpdates
	if lag < 1 {
		c.overloadedUpdates = 0
		c.moveToCapacity(players, busy, lag)
		return c.limit
	}
	if c.overloadedUpdates++; c.overloadedUpdates == overloadedAfter {
		c.limit = min(c.limit, players)
	}
	if c.overloadedUpdates >= overloadedAfter {
		c.limit = max(c.limit*shrinkFactor, c.minPlayers)
	}
	return c.limit
}

// moveToCapacity moves the limit towards the number of players that the processors can
// serve. It computes this capacity from the mean number of players, who cause their full
// load by now. If the limit is nearly used, it grows a little above the capacity; with
// more lag it grows less. The limit falls only with moderate lag, and never below half of
// the players: other load on the processors may end by itself.
func (c *limitController) moveToCapacity(players, latestBusy, lag float64) {
	capacity := min(c.players, players) * targetBusy / max(c.busy, lowBusy)
	switch {
	case c.busy < lowBusy && latestBusy < targetBusy:
		c.limit, c.floor = math.Inf(1), 0
		return
	case math.IsInf(c.limit, 1):
		c.limit = max(players, capacity)
	}
	if c.busy > targetBusy && lag >= moderateLag {
		c.floor = max(c.floor, players/2, c.minPlayers)
		c.limit = max(min(c.limit, max(capacity, c.limit*(1-smallStepShare))), c.floor)
		return
	}
	if players >= nearLimit*c.limit {
		capacity = max(capacity, c.limit*(1+smallStepShare*(1-lag)*(1-lag)))
	}
	c.limit = max(c.limit, min(capacity, c.limit*(1+maxGrowthShare)), c.minPlayers)
}
