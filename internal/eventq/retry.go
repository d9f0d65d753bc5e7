package eventq

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	renewInterval   = 5 * time.Second
	retryInterval   = time.Second // after a failed renewal or finish
	maxWaitingItems = 200_000     // items of waiting batches; beyond it, batches are requeued
	requeueTimeout  = 5 * time.Second
)

// scheduleRetry lets a batch wait for its next attempt, or for another try to
// take or finish it.
func (s *Service) scheduleRetry(ctx context.Context, b *batch) {
	b.renewAt = time.Now().Add(renewInterval)
	if b.isClosed || b.isOutcomeUnknown {
		b.renewAt = time.Now().Add(retryInterval)
	}
	if b.isWaiting {
		signal(b.game.partition.pollNow)
		return
	}
	if !b.isClosed && !b.isOutcomeUnknown && s.waitingItems.Load() >= maxWaitingItems {
		b.game.reporter.coolDown(backoff(maxAttempts))
		b.requeue()
		s.finish(ctx, b)
		return
	}
	b.isWaiting, b.waitingItems = true, len(b.items)
	s.waitingItems.Add(int64(b.waitingItems))
	b.game.reporter.addWaiting(1)
	b.game.partition.addWaiting(b)
}

// pollWaiting handles the waiting batches of a partition, and returns when to
// look again. It skips batches that are being sent.
func (s *Service) pollWaiting(ctx context.Context, p *partition) time.Duration {
	wait := idlePollInterval
	for _, b := range p.copyWaiting() {
		if ctx.Err() == nil && b.mu.TryLock() {
			s.pollBatch(ctx, b)
			wait = min(wait, b.untilNextPoll())
			b.mu.Unlock()
		}
	}
	return max(wait, minPollPause)
}

// pollBatch does what is due for a waiting batch.
func (s *Service) pollBatch(ctx context.Context, b *batch) {
	now := time.Now()
	b.dropStale(b.now(s.Now()))
	switch {
	case b.isFinished:
	case (b.isClosed || b.isOutcomeUnknown) && now.Before(b.renewAt):
	case b.isOutcomeUnknown:
		s.resolveOutcome(ctx, b)
	case b.isClosed || len(b.items) == 0:
		s.finish(ctx, b)
	case !b.isQueued && !now.Before(b.retryAt):
		b.isQueued = true
		s.enqueue(ctx, s.slow, job{batch: b})
	case !now.Before(b.renewAt):
		s.acquire(ctx, b, true)
	}
}

func (b *batch) untilNextPoll() time.Duration {
	switch {
	case b.isFinished:
		return idlePollInterval
	case b.isClosed, b.isOutcomeUnknown, b.isQueued:
		return time.Until(b.renewAt)
	}
	return min(time.Until(b.renewAt), time.Until(b.retryAt))
}

// retryBatch makes another attempt of a batch, if the queue allows it.
func (s *Service) retryBatch(ctx context.Context, b *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isQueued = false
	b.dropStale(b.now(s.Now()))
	switch {
	case b.isFinished || b.isClosed || ctx.Err() != nil:
	case len(b.items) == 0:
		s.finish(ctx, b)
	case s.acquire(ctx, b, false):
		if b.attempts > 0 {
			s.metrics.retries.Inc()
		}
		if s.sendFresh(ctx, b, nil) {
			s.finish(ctx, b)
		}
	}
}

// acquire renews the lease of a batch, and reports whether an attempt may begin
// now.
func (s *Service) acquire(ctx context.Context, b *batch, leaseOnly bool) bool {
	calling, cancel := callContext(ctx)
	defer cancel()
	wait, err := s.Queue.Acquire(calling, b.game.Policy, Renewal{Batch: b.id, Now: s.Now(), Lease: leaseMS, LeaseOnly: leaseOnly})
	now := time.Now()
	b.renewAt = now.Add(renewInterval)
	switch {
	case errors.Is(err, ErrNotInFlight):
		s.removeBatch(b, true)
	case err != nil:
		s.recordError("acquire", err)
		b.renewAt = now.Add(retryInterval)
		b.retryAt = latest(b.retryAt, b.renewAt)
	case leaseOnly:
	case wait > 0:
		s.metrics.limited.Inc()
		b.retryAt = now.Add(min(max(wait, minPollPause), renewInterval))
	default:
		return true
	}
	return false
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// requeueAll requeues all waiting batches. The last taken goes first, so that
// items keep their order. A batch that cannot be requeued is lost with this
// node.
func (s *Service) requeueAll(ctx context.Context) {
	until := time.Now().Add(requeueTimeout)
	var partitions sync.WaitGroup
	for _, p := range s.partitions {
		waiting := p.copyWaiting()
		slices.Reverse(waiting)
		slices.SortStableFunc(waiting, func(a, b *batch) int { return b.startedAt.Compare(a.startedAt) })
		if len(waiting) > 0 {
			partitions.Go(func() { s.requeuePartition(ctx, waiting, until) })
		}
	}
	partitions.Wait()
}

func (s *Service) requeuePartition(ctx context.Context, waiting []*batch, until time.Time) {
	for _, b := range waiting {
		if time.Now().After(until) {
			return
		}
		b.mu.Lock()
		s.requeueBatch(ctx, b)
		b.mu.Unlock()
	}
}

func (s *Service) requeueBatch(ctx context.Context, b *batch) {
	if b.isOutcomeUnknown {
		s.resolveOutcome(ctx, b)
	}
	if b.isFinished || b.isOutcomeUnknown {
		return
	}
	b.dropStale(b.now(s.Now()))
	b.requeue()
	s.finish(ctx, b)
}
