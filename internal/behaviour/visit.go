package behaviour

import (
	"context"
	"time"
)

const (
	turns   = 8 // batches of a game that a worker takes before others' turn
	leaseMS = 20_000
	ownLane = "own" // of hot games: a reporter each
)

// visit takes batches of a game and tries to report them, while full ones are
// left and it is not others' turn.
func (s *Service) visit(ctx context.Context, w *worker, g *game) {
	more, next := true, int64(0)
	for turn := 0; more && turn < turns; turn++ {
		more, next = s.step(ctx, g, w)
	}
	c := &g.course
	c.mu.Lock()
	defer c.mu.Unlock()
	if more && !g.hot() {
		s.enter(ctx, s.laneOf(g), errand{game: g})
		return
	}
	c.busy = false
	if more {
		s.startOwn(ctx, g)
	} else if until(next, s.Now(), pollEvery) < pollEvery {
		signal(g.partition.nudge)
	}
}

// step takes a batch of a game and tries to report it. It says whether a full
// one is left, or else when there is something to take, 0 where nobody knows.
func (s *Service) step(ctx context.Context, g *game, w *worker) (more bool, next int64) {
	if ctx.Err() != nil {
		return false, 0
	}
	if open, rest := g.course.open(); !open {
		return false, s.Now() + rest.Milliseconds() + 1
	}
	b, left, err := s.take(ctx, g, w)
	switch {
	case err != nil:
		b.doubtful = true
		s.park(ctx, b)
		g.course.idle(Taken{}, s.Now())
		return false, 0
	case len(b.items) == 0:
		if left.Left > 0 {
			s.metrics.limited.Inc()
		}
		g.course.idle(left, s.Now())
		return false, left.Next
	}
	s.metrics.flushes.WithLabelValues(g.trigger(len(b.items))).Inc()
	g.course.measure(len(b.items), g.BatchSize, left.Left)
	more = left.Left >= g.BatchSize
	switch ended := s.try(ctx, b, w); {
	case ended && more && len(b.settlement.Back) == 0: // along with the next take
		s.running.Go(func() { s.settle(ctx, b) })
	case ended:
		s.settle(ctx, b)
	}
	return more, left.Next
}

// take takes a batch, and once more where nobody knows whether it did. If nobody
// does then, it is doubtful.
func (s *Service) take(ctx context.Context, g *game, w *worker) (b *batch, t Taken, err error) {
	id := s.ids.next()
	for range 2 {
		b = newBatch(g, id, s.Now())
		if t, err = s.takeOnce(ctx, g, Take{Batch: id, Node: s.Node, Lane: w.name(), Now: b.taken, Lease: leaseMS}); err == nil {
			break
		}
	}
	b.items = t.Items
	return b, t, err
}

// takeAgain finds out about a doubtful batch by taking it, now or before: it then
// waits for a try, or is over where there was nothing to take.
func (s *Service) takeAgain(ctx context.Context, b *batch) {
	t, err := s.takeOnce(ctx, b.game, Take{Batch: b.id, Node: s.Node, Lane: s.slow.name, Now: b.now(s.Now()), Lease: leaseMS})
	if err != nil {
		b.renewAt = time.Now().Add(againEvery)
		return
	}
	b.doubtful, b.items, b.weight = false, t.Items, len(t.Items)
	s.parked.Add(int64(b.weight))
	if len(b.items) == 0 {
		s.end(b, false)
	}
}

func (s *Service) takeOnce(ctx context.Context, g *game, take Take) (Taken, error) {
	ctx, cancel := call(ctx)
	defer cancel()
	t, err := s.Queue.Take(ctx, g.Terms, take)
	s.note("take", err)
	return t, err
}

// trigger says why a batch leaves.
func (g *game) trigger(items int) string {
	switch {
	case g.course.drains.Load() > 0:
		return "drain"
	case items >= g.BatchSize:
		return "size"
	}
	return "age"
}
