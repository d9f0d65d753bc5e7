package eventq

import (
	"context"
	"slices"
	"time"
)

const (
	takesPerTurn  = 8 // takes of one game by a worker before other games have their turn
	leaseMS       = 20_000
	dedicatedPool = "own" // name of the pool of dedicated reporters
)

// serveGame takes and reports batches of a game while full ones are left, for
// at most takesPerTurn takes.
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

// takeAndSend makes one take and reports it. It returns whether a full batch is
// left, or else when to take again; 0: unknown.
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

// sendAll sends the batches of a take in order, and returns those to finish.
// After a failure or a slow attempt it requeues the later ones, because nothing
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

// takeBatches takes batches, and repeats the call once if the outcome is
// unknown. If it stays unknown, the batches wait until it is resolved.
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

// fillBatches divides items among batches, and returns those that have some.
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

// resolveOutcome repeats the take of a batch with unknown outcome. The batch
// then waits for an attempt. It is finished if there was nothing to take.
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

// flushTrigger returns why a batch leaves: a label of a metric.
func (g *game) flushTrigger(items int) string {
	switch {
	case g.reporter.drains.Load() > 0:
		return "drain"
	case items >= g.BatchSize:
		return "size"
	}
	return "age"
}
