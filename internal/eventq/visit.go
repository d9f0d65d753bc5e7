package eventq

import (
	"context"
	"slices"
	"time"
)

const (
	turns   = 8 // takes of a game by a worker before others' turn
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

// step takes from a game and tries to report it. It says whether a full batch is
// left, or else when there is something to take, 0 where nobody knows.
func (s *Service) step(ctx context.Context, g *game, w *worker) (more bool, next int64) {
	if ctx.Err() != nil {
		return false, 0
	}
	if open, rest := g.course.open(); !open {
		return false, s.Now() + rest.Milliseconds() + 1
	}
	batches, left, err := s.take(ctx, g, w)
	switch {
	case err != nil:
		g.course.idle(Taken{}, s.Now())
		return false, 0
	case len(batches) == 0:
		if left.Left > 0 {
			s.metrics.limited.Inc()
		}
		g.course.idle(left, s.Now())
		return false, left.Next
	}
	g.course.measure(len(left.Items), g.BatchSize, left.Left)
	more = left.Left >= g.BatchSize
	ended := s.tryAll(ctx, batches, w)
	if more && !slices.ContainsFunc(ended, (*batch).goesBack) { // along with the next take
		s.running.Go(func() { s.settleAll(ctx, ended) })
	} else {
		s.settleAll(ctx, ended)
	}
	return more, left.Next
}

// tryAll tries batches of a take in their order, and gives those that are to be
// settled. Once a try fails or they take long, the later ones go back, as nobody
// renews their lease.
func (s *Service) tryAll(ctx context.Context, batches []*batch, w *worker) (ended []*batch) {
	for i, b := range batches {
		if i > 0 && b.late() {
			b.giveBack()
		} else if !s.try(ctx, b, w) {
			continue
		}
		ended = append(ended, b)
	}
	return ended
}

// take takes batches, and once more where nobody knows whether it did. If nobody
// does then, they are doubtful, and wait.
func (s *Service) take(ctx context.Context, g *game, w *worker) (batches []*batch, t Taken, err error) {
	take := Take{Node: s.Node, Lane: w.name(), Lease: leaseMS}
	for range g.course.hauls(g.BatchSize) {
		take.Batches = append(take.Batches, s.ids.next())
	}
	for range 2 {
		batches, take.Now = nil, s.Now()
		for _, id := range take.Batches {
			batches = append(batches, newBatch(g, id, take.Now))
		}
		if t, err = s.takeOnce(ctx, g, take); err == nil {
			return s.fill(batches, t.Items), t, nil
		}
	}
	for _, b := range batches {
		b.doubtful = true
		s.park(ctx, b)
	}
	return nil, t, err
}

// fill deals items out to batches, and gives those that have some.
func (s *Service) fill(batches []*batch, items []Item) []*batch {
	filled := 0
	for part := range slices.Chunk(items, batches[0].game.BatchSize) {
		b := batches[filled]
		b.items = part
		s.metrics.flushes.WithLabelValues(b.game.trigger(len(part))).Inc()
		filled++
	}
	return batches[:filled]
}

// takeAgain finds out about a doubtful batch by taking it, now or before: it then
// waits for a try, or is over where there was nothing to take.
func (s *Service) takeAgain(ctx context.Context, b *batch) {
	t, err := s.takeOnce(ctx, b.game, Take{Batches: []string{b.id}, Node: s.Node, Lane: s.slow.name, Now: b.now(s.Now()), Lease: leaseMS})
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
