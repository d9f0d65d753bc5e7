package eventq

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	hotRate           = 10 // full batches a second from which a game is hot
	hotPeriod         = time.Minute
	measurePeriod     = 1.0                   // seconds, over which is measured
	maxDedicated      = 8                     // reporters of a hot game
	drainGoal         = 3.0                   // seconds that a hot queue may take
	slowSend          = time.Second           // from which a game is slow
	maxWaitingBatches = 4                     // batches of a game that wait; more are not taken then
	maxBatchesPerTake = 16                    // batches of a take
	takeSendTime      = 20 * time.Millisecond // and how long their tries may take together, by the last one
	emptyTakeRest     = 20 * time.Millisecond // after a take that gave nothing
)

// course is how the reporting of a game goes at this node.
type gameReporter struct {
	mu              sync.Mutex
	isBusy          bool          // it waits in a lane, or a worker is at it
	dedicated       int           // its own reporters
	wantedDedicated int           // how many there should be
	due             chan struct{} // wakes its own reporters
	isSlow          bool          // its last try failed or took long
	batchesPerTake  int           // how many batches to take together, where there are as many
	length          int           // of the queue, as last seen
	waitingBatches  int           // batches that wait
	restUntil       time.Time     // no take before
	hotUntil        time.Time
	measuredSince   time.Time // what follows was measured
	fullBatches     int       // full batches
	items           int
	wasLimited      bool // by its rate or a cool-down: more reporters would not help

	drains atomic.Int32 // operators that drain it
}

// dispatch has a due game taken from, unless it is in hand, or rests.
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

// laneOf is where a game waits for its turn; its course is locked.
func (s *Service) poolOf(g *game) *workerPool {
	if g.reporter.isSlow {
		return s.slow
	}
	return s.shared
}

// hot says whether a game has reporters of its own; its course is locked.
func (g *game) isHot() bool { return g.Hot || time.Now().Before(g.reporter.hotUntil) }

// wakeOwn wakes a reporter of a game's own, if it has any.
func (c *gameReporter) wakeDedicated() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dedicated > 0 {
		signal(c.due)
	}
	return c.dedicated > 0
}

// open says whether another batch may be taken, or when to look again.
func (c *gameReporter) canTake() (isOpen bool, rest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest = time.Until(c.restUntil)
	if c.waitingBatches >= maxWaitingBatches {
		rest = max(rest, pollInterval)
	}
	return rest <= 0, rest
}

// late says whether a batch must not be tried for the first time any more: the
// tries of its game fail, or take longer than they did when it was taken.
func (b *batch) isLate() bool {
	c := &b.game.reporter
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isSlow || time.Since(b.startedAt) > slowSend
}

// setAside counts batches that wait, or that do not any more.
func (c *gameReporter) addWaiting(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waitingBatches += n
}

// tried notes how a try went.
func (c *gameReporter) recordSend(good bool, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isSlow = !good || took > slowSend
	if c.batchesPerTake = 1; good {
		c.batchesPerTake = min(1+int(takeSendTime/max(took, 1)), maxBatchesPerTake)
	}
}

// see notes how long the queue is.
func (c *gameReporter) setLength(length int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.length = length
}

// hauls is how many batches to take together, of so many items at the most.
func (c *gameReporter) batchesToTake(most int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(min(c.batchesPerTake, c.length/most), 1)
}

// idle has a game rest after a take that gave nothing, for as long as that can
// be known to go on.
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

// coolDown has a game rest.
func (c *gameReporter) coolDown(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restUntil = latest(c.restUntil, time.Now().Add(d))
	c.wasLimited = true
}

// measure notes that so many items were taken, in batches of so many at the
// most, and how many are left, and now and then sees whether the game is hot and
// how many reporters it needs.
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
