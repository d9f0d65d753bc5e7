package eventq

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	measurePeriod     = 1.0                   // seconds of one measurement
	maxWorkersPerGame = 8                     // that serve one game at a time
	drainGoal         = 3.0                   // seconds in which a game should empty its queue
	slowSend          = time.Second           // an attempt this long makes a game slow
	maxWaitingBatches = 4                     // batches of a game that wait; with more, the node takes no others
	maxMessages       = 16                    // of one take
	takeSendTime      = 20 * time.Millisecond // the attempts of one take may last this long together, judged by the last one
	emptyTakeRest     = 20 * time.Millisecond // pause after a take without items
)

// sendState is what this node knows about sending one game's items.
type sendState struct {
	mu              sync.Mutex
	workers         int       // that serve the game, or wait in the pool for that
	wantedWorkers   int       // above 1 while the game is behind
	isSlow          bool      // whether its last attempt failed or was slow
	messagesPerTake int       // to take together, if there are as many
	length          int       // of the queue, as last seen
	waitingBatches  int       // batches that wait for a retry
	restUntil       time.Time // no take before
	measuredSince   time.Time // when the measurement below began
	items           int       // taken since then
	wasLimited      bool      // whether the rate limit or a cool-down held it back: more workers would not help

	drains atomic.Int32 // operators that drain it
}

// addWorker counts another worker of a due game, and reports whether it may
// start.
func (c *sendState) addWorker() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.workers >= max(c.wantedWorkers, 1) || c.untilTake() > 0 {
		return false
	}
	c.workers++
	return true
}

func (c *sendState) removeWorker() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers--
}

// rest returns how long to wait before another take.
func (c *sendState) rest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.untilTake()
}

// untilTake is rest for callers that hold the lock.
func (c *sendState) untilTake() time.Duration {
	rest := time.Until(c.restUntil)
	if c.waitingBatches >= maxWaitingBatches {
		rest = max(rest, pollInterval)
	}
	return rest
}

// class returns which share of the workers serves the game. No share limits a game
// that is hot or behind: its number of workers has a bound of its own.
func (g *game) class() string {
	c := &g.sending
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case g.Hot || c.wantedWorkers > 1:
		return classOwn
	case c.isSlow:
		return classSlow
	}
	return classShared
}

// isLate reports whether it is too late for the next message of a take. It is if
// the attempts of its game fail, or take longer than when the batch was taken.
func (b *batch) isLate() bool {
	c := &b.game.sending
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isSlow || time.Since(b.startedAt) > slowSend
}

// addWaiting adds n to the number of waiting batches; n is negative when batches
// stop waiting.
func (c *sendState) addWaiting(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waitingBatches += n
}

// recordSend records an attempt and its duration.
func (c *sendState) recordSend(good bool, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isSlow = !good || took > slowSend
	if c.messagesPerTake = 1; good {
		c.messagesPerTake = min(1+int(takeSendTime/max(took, 1)), maxMessages)
	}
}

// setLength records the length of the queue.
func (c *sendState) setLength(length int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.length = length
}

// messagesToTake returns how many messages of the given size to take together.
func (c *sendState) messagesToTake(size int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(min(c.messagesPerTake, c.length/size), 1)
}

// restAfterEmptyTake pauses the game after a take without items, until there
// may be something to take.
func (c *sendState) restAfterEmptyTake(t TakeResult, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.length = t.Left
	rest := emptyTakeRest
	if t.Left > 0 {
		rest = waitUntil(t.Next, now, pollInterval)
	}
	c.restUntil = latest(c.restUntil, time.Now().Add(rest))
	c.wasLimited = c.wasLimited || t.Left > 0
}

// coolDown pauses the game.
func (c *sendState) coolDown(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restUntil = latest(c.restUntil, time.Now().Add(d))
	c.wasLimited = true
}

// measure records a take. Once per measurePeriod it decides how many workers the
// game needs. Example: 3,000 items left at 500 items per second need 6 s, above
// drainGoal, so it wants one more worker.
func (c *sendState) measure(items, left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.measuredSince.IsZero() {
		c.measuredSince = now
	}
	c.length = left
	c.items += items
	took := now.Sub(c.measuredSince).Seconds()
	if took < measurePeriod {
		return
	}
	switch drain := took * float64(left) / float64(c.items); {
	case drain > drainGoal && !c.wasLimited:
		c.wantedWorkers = min(c.workers+1, maxWorkersPerGame)
	case drain < drainGoal/2:
		c.wantedWorkers = max(c.wantedWorkers-1, 1)
	}
	c.measuredSince, c.items, c.wasLimited = now, 0, false
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
