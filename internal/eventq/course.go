package eventq

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	hotRate   = 10 // full batches a second from which a game is hot
	hotFor    = time.Minute
	paceOver  = 1.0                   // seconds, over which is measured
	maxOwn    = 8                     // reporters of a hot game
	drainGoal = 3.0                   // seconds that a hot queue may take
	slowTry   = time.Second           // from which a game is slow
	maxAside  = 4                     // batches of a game that wait; more are not taken then
	haulMost  = 16                    // batches of a take
	haulTime  = 20 * time.Millisecond // and how long their tries may take together, by the last one
	idleRest  = 20 * time.Millisecond // after a take that gave nothing
)

// course is how the reporting of a game goes at this node.
type course struct {
	mu      sync.Mutex
	busy    bool          // it waits in a lane, or a worker is at it
	own     int           // its own reporters
	wanted  int           // how many there should be
	due     chan struct{} // wakes its own reporters
	slow    bool          // its last try failed or took long
	haul    int           // how many batches to take together, where there are as many
	length  int           // of the queue, as last seen
	aside   int           // batches that wait
	rest    time.Time     // no take before
	hotTill time.Time
	since   time.Time // what follows was measured
	full    int       // full batches
	items   int
	limited bool // by its rate or a cool-down: more reporters would not help

	drains atomic.Int32 // operators that drain it
}

// dispatch has a due game taken from, unless it is in hand, or rests.
func (s *Service) dispatch(ctx context.Context, g *game) {
	c := &g.course
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.own > 0:
		signal(c.due)
	case c.busy || c.aside >= maxAside || time.Now().Before(c.rest): // the tending loop finds it again
	case g.hot():
		s.startOwn(ctx, g)
	default:
		c.busy = true
		s.enter(ctx, s.laneOf(g), errand{game: g})
	}
}

// laneOf is where a game waits for its turn; its course is locked.
func (s *Service) laneOf(g *game) *lane {
	if g.course.slow {
		return s.slow
	}
	return s.shared
}

// hot says whether a game has reporters of its own; its course is locked.
func (g *game) hot() bool { return g.Hot || time.Now().Before(g.course.hotTill) }

// wakeOwn wakes a reporter of a game's own, if it has any.
func (c *course) wakeOwn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own > 0 {
		signal(c.due)
	}
	return c.own > 0
}

// open says whether another batch may be taken, or when to look again.
func (c *course) open() (now bool, rest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest = time.Until(c.rest)
	if c.aside >= maxAside {
		rest = max(rest, pollEvery)
	}
	return rest <= 0, rest
}

// late says whether a batch must not be tried for the first time any more: the
// tries of its game fail, or take longer than they did when it was taken.
func (b *batch) late() bool {
	c := &b.game.course
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slow || time.Since(b.began) > slowTry
}

// setAside counts batches that wait, or that do not any more.
func (c *course) setAside(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aside += n
}

// tried notes how a try went.
func (c *course) tried(good bool, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slow = !good || took > slowTry
	if c.haul = 1; good {
		c.haul = min(1+int(haulTime/max(took, 1)), haulMost)
	}
}

// see notes how long the queue is.
func (c *course) see(length int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.length = length
}

// hauls is how many batches to take together, of so many items at the most.
func (c *course) hauls(most int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(min(c.haul, c.length/most), 1)
}

// idle has a game rest after a take that gave nothing, for as long as that can
// be known to go on.
func (c *course) idle(t Taken, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.length = t.Left
	rest := idleRest
	if t.Left > 0 {
		rest = until(t.Next, now, pollEvery)
	}
	c.rest = later(c.rest, time.Now().Add(rest))
	c.limited = c.limited || t.Left > 0
}

// coolDown has a game rest.
func (c *course) coolDown(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = later(c.rest, time.Now().Add(d))
	c.limited = true
}

// measure notes that so many items were taken, in batches of so many at the
// most, and how many are left, and now and then sees whether the game is hot and
// how many reporters it needs.
func (c *course) measure(items, most, left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.since.IsZero() {
		c.since = now
	}
	c.length = left
	c.items += items
	c.full += items / most
	took := now.Sub(c.since).Seconds()
	if took < paceOver {
		return
	}
	drain := took * float64(left) / float64(c.items)
	behind := drain > drainGoal && !c.limited
	if behind || float64(c.full) >= hotRate*took {
		c.hotTill = now.Add(hotFor)
	}
	switch {
	case behind:
		c.wanted = min(c.own+1, maxOwn)
	case drain < drainGoal/2:
		c.wanted = max(c.own-1, 1)
	}
	c.since, c.full, c.items, c.limited = now, 0, 0, false
}
