package eventq

import (
	"context"
	"slices"
	"time"
)

const (
	takesPerTurn  = 8 // takes of a game by a worker before others' turn
	leaseMS       = 20_000
	dedicatedPool = "own" // of hot games: a reporter each
)

// visit takes batches of a game and tries to report them, while full ones are
// left and it is not others' turn.
func (s *Service) serveGame(ctx context.Context, w *worker, g *game) {
	more, next := true, int64(0)
	for i := 0; more && i < takesPerTurn; i++ {
		more, next = s.takeAndSend(ctx, g, w)
	}
	c := &g.reporter
	c.mu.Lock()
	defer c.mu.Unlock()
	if more && !g.isHot() {
		s.enqueue(ctx, s.poolOf(g), job{game: g})
		return
	}
	c.isBusy = false
	if more {
		s.startDedicated(ctx, g)
	} else if waitUntil(next, s.Now(), pollInterval) < pollInterval {
		signal(g.partition.pollNow)
	}
}

// step takes from a game and tries to report it. It says whether a full batch is
// left, or else when there is something to take, 0 where nobody knows.
func (s *Service) takeAndSend(ctx context.Context, g *game, w *worker) (more bool, next int64) {
	if ctx.Err() != nil {
		return false, 0
	}
	if open, rest := g.reporter.canTake(); !open {
		return false, s.Now() + rest.Milliseconds() + 1
	}
	batches, left, err := s.takeBatches(ctx, g, w)
	switch {
	case err != nil:
		g.reporter.restAfterEmptyTake(TakeResult{}, s.Now())
		return false, 0
	case len(batches) == 0:
		if left.Left > 0 {
			s.metrics.limited.Inc()
		}
		g.reporter.restAfterEmptyTake(left, s.Now())
		return false, left.Next
	}
	g.reporter.measure(len(left.Items), g.BatchSize, left.Left)
	more = left.Left >= g.BatchSize
	ended := s.sendAll(ctx, batches, w)
	if more && !slices.ContainsFunc(ended, (*batch).isRequeued) { // along with the next take
		s.running.Go(func() { s.finishAll(ctx, ended) })
	} else {
		s.finishAll(ctx, ended)
	}
	return more, left.Next
}

// tryAll tries batches of a take in their order, and gives those that are to be
// settled. Once a try fails or they take long, the later ones go back, as nobody
// renews their lease.
func (s *Service) sendAll(ctx context.Context, batches []*batch, w *worker) (ended []*batch) {
	for i, b := range batches {
		if i > 0 && b.isLate() {
			b.requeue()
		} else if !s.sendFresh(ctx, b, w) {
			continue
		}
		ended = append(ended, b)
	}
	return ended
}

// take takes batches, and once more where nobody knows whether it did. If nobody
// does then, they are doubtful, and wait.
func (s *Service) takeBatches(ctx context.Context, g *game, w *worker) (batches []*batch, t TakeResult, err error) {
	take := Take{Node: s.Node, Pool: w.name(), Lease: leaseMS}
	for range g.reporter.batchesToTake(g.BatchSize) {
		take.Batches = append(take.Batches, s.ids.next())
	}
	for range 2 {
		batches, take.Now = nil, s.Now()
		for _, id := range take.Batches {
			batches = append(batches, newBatch(g, id, take.Now))
		}
		if t, err = s.callTake(ctx, g, take); err == nil {
			return s.fillBatches(batches, t.Items), t, nil
		}
	}
	for _, b := range batches {
		b.isOutcomeUnknown = true
		s.scheduleRetry(ctx, b)
	}
	return nil, t, err
}

// fill deals items out to batches, and gives those that have some.
func (s *Service) fillBatches(batches []*batch, items []Item) []*batch {
	filled := 0
	for part := range slices.Chunk(items, batches[0].game.BatchSize) {
		b := batches[filled]
		b.items = part
		s.metrics.flushes.WithLabelValues(b.game.flushTrigger(len(part))).Inc()
		filled++
	}
	return batches[:filled]
}

// takeAgain finds out about a doubtful batch by taking it, now or before: it then
// waits for a try, or is over where there was nothing to take.
func (s *Service) resolveOutcome(ctx context.Context, b *batch) {
	t, err := s.callTake(ctx, b.game, Take{Batches: []string{b.id}, Node: s.Node, Pool: s.slow.name, Now: b.now(s.Now()), Lease: leaseMS})
	if err != nil {
		b.renewAt = time.Now().Add(retryInterval)
		return
	}
	b.isOutcomeUnknown, b.items, b.waitingItems = false, t.Items, len(t.Items)
	s.waitingItems.Add(int64(b.waitingItems))
	if len(b.items) == 0 {
		s.removeBatch(b, false)
	}
}

func (s *Service) callTake(ctx context.Context, g *game, take Take) (TakeResult, error) {
	ctx, cancel := callContext(ctx)
	defer cancel()
	t, err := s.Queue.Take(ctx, g.Policy, take)
	s.recordError("take", err)
	return t, err
}

// trigger says why a batch leaves.
func (g *game) flushTrigger(items int) string {
	switch {
	case g.reporter.drains.Load() > 0:
		return "drain"
	case items >= g.BatchSize:
		return "size"
	}
	return "age"
}
