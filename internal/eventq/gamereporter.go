package eventq

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	hotRate           = 10 // full batches per second that make a game hot
	hotPeriod         = time.Minute
	measurePeriod     = 1.0                   // seconds of one measurement
	maxDedicated      = 8                     // its dedicated reporters
	drainGoal         = 3.0                   // seconds in which a hot game should empty its queue
	slowSend          = time.Second           // an attempt this long makes a game slow
	maxWaitingBatches = 4                     // batches of a game that wait; with more, the node takes no others
	maxBatchesPerTake = 16                    // batches of one take
	takeSendTime      = 20 * time.Millisecond // the attempts of one take may last this long together, judged by the last one
	emptyTakeRest     = 20 * time.Millisecond // pause after a take without items
)

// gameReporter is the state of reporting one game at this node.
type gameReporter struct {
	mu              sync.Mutex
	isBusy          bool          // whether the game waits in a pool, or a worker serves it
	dedicated       int           // its own reporters
	wantedDedicated int           // how many dedicated reporters it should have
	due             chan struct{} // wakes its dedicated reporters
	isSlow          bool          // whether its last attempt failed or was slow
	batchesPerTake  int           // batches to take together, if there are as many
	length          int           // of the queue, as last seen
	waitingBatches  int           // batches that wait for a retry
	restUntil       time.Time     // no take before
	hotUntil        time.Time
	measuredSince   time.Time // when the measurement below began
	fullBatches     int       // full batches since then
	items           int
	wasLimited      bool // whether the rate limit or a cool-down held it back: more reporters would not help

	drains atomic.Int32 // operators that drain it
}

// dispatch lets a worker take from a due game, unless one already does or the
// game rests.
func (s *Service) dispatch(ctx context.Context, g *game) {
	c := &g.reporter
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.dedicated > 0:
		signal(c.due)
	case c.isBusy || c.waitingBatches >= maxWaitingBatches || time.Now().Before(c.restUntil): // the tending loop finds it again
	case g.isHot():
		s.startDedicated(ctx, g)
	default:
		c.isBusy = true
		s.enqueue(ctx, s.poolOf(g), job{game: g})
	}
}

// poolOf returns the pool that serves the game. The caller holds the lock of
// its reporter.
func (s *Service) poolOf(g *game) *workerPool {
	if g.reporter.isSlow {
		return s.slow
	}
	return s.shared
}

// isHot reports whether the game has dedicated reporters. The caller holds the
// lock of its reporter.
func (g *game) isHot() bool { return g.Hot || time.Now().Before(g.reporter.hotUntil) }

// wakeDedicated wakes a dedicated reporter. It reports whether there is one.
func (c *gameReporter) wakeDedicated() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dedicated > 0 {
		signal(c.due)
	}
	return c.dedicated > 0
}

// canTake reports whether another batch may be taken, or how long to wait.
func (c *gameReporter) canTake() (isOpen bool, rest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest = time.Until(c.restUntil)
	if c.waitingBatches >= maxWaitingBatches {
		rest = max(rest, pollInterval)
	}
	return rest <= 0, rest
}

// isLate reports whether it is too late for the first attempt of a batch. It is if
// the attempts of its game fail, or take longer than when the batch was taken.
func (b *batch) isLate() bool {
	c := &b.game.reporter
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isSlow || time.Since(b.startedAt) > slowSend
}

// addWaiting adds n to the number of waiting batches; n is negative when batches
// stop waiting.
func (c *gameReporter) addWaiting(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waitingBatches += n
}

// recordSend records an attempt and its duration.
func (c *gameReporter) recordSend(good bool, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isSlow = !good || took > slowSend
	if c.batchesPerTake = 1; good {
		c.batchesPerTake = min(1+int(takeSendTime/max(took, 1)), maxBatchesPerTake)
	}
}

// setLength records the length of the queue.
func (c *gameReporter) setLength(length int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.length = length
}

// batchesToTake returns how many batches of the given size to take together.
func (c *gameReporter) batchesToTake(most int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(min(c.batchesPerTake, c.length/most), 1)
}

// restAfterEmptyTake pauses the game after a take without items, until there
// may be something to take.
func (c *gameReporter) restAfterEmptyTake(t TakeResult, now int64) {
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
func (c *gameReporter) coolDown(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restUntil = latest(c.restUntil, time.Now().Add(d))
	c.wasLimited = true
}

// measure records a take. Once per measurePeriod it decides whether the game is
// hot, and how many dedicated reporters it needs. Example: 3,000 items left at
// 500 items per second need 6 s, above drainGoal, so it wants one more
// reporter.
func (c *gameReporter) measure(items, most, left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.measuredSince.IsZero() {
		c.measuredSince = now
	}
	c.length = left
	c.items += items
	c.fullBatches += items / most
	took := now.Sub(c.measuredSince).Seconds()
	if took < measurePeriod {
		return
	}
	drain := took * float64(left) / float64(c.items)
	behind := drain > drainGoal && !c.wasLimited
	if behind || float64(c.fullBatches) >= hotRate*took {
		c.hotUntil = now.Add(hotPeriod)
	}
	switch {
	case behind:
		c.wantedDedicated = min(c.dedicated+1, maxDedicated)
	case drain < drainGoal/2:
		c.wantedDedicated = max(c.dedicated-1, 1)
	}
	c.measuredSince, c.fullBatches, c.items, c.wasLimited = now, 0, 0, false
}
