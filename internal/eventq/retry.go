package eventq

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"laststand/internal/timer"
)

const (
	renewInterval   = 5 * time.Second
	retryInterval   = time.Second // after a call of the store without an answer
	maxWaitingItems = 200_000     // items of waiting batches; beyond it, batches are requeued
	requeueTimeout  = 5 * time.Second
)

// wait lets a batch wait for its next step, which a poll of its partition
// resumes. One rule serves failed attempts and calls without an answer: the
// batch repeats its step.
func (s *sender) wait(ctx context.Context, b *batch) {
	if b.step == stepSend {
		if !b.isWaiting && s.waitingItems.Load() >= maxWaitingItems {
			b.game.sending.coolDown(backoff(maxAttempts))
			b.requeue()
		}
		if len(b.result.Requeue) > 0 && !s.finish(ctx, b) {
			return
		}
	} else {
		b.retryAt = time.Now().Add(retryInterval)
	}
	b.renewAt = time.Now().Add(renewInterval)
	s.countWaiting(b)
	if !b.isWaiting {
		b.isWaiting = true
		b.game.sending.addWaiting(1)
		b.game.partition.addWaiting(b)
	}
}

// countWaiting updates the number of waiting items.
func (s *sender) countWaiting(b *batch) {
	s.waitingItems.Add(int64(len(b.items) - b.waitingItems))
	b.waitingItems = len(b.items)
}

// resumeWaiting resumes the waiting batches of a partition whose time has come,
// and returns when to look again. It skips batches whose step is under way.
func (s *sender) resumeWaiting(ctx context.Context, p *partition) time.Duration {
	wait := idlePollInterval
	for _, b := range p.copyWaiting() {
		if b.isBusy.Load() || b.step == stepNone {
			continue
		}
		if until := time.Until(b.nextStepAt()); until > 0 {
			wait = min(wait, until)
			continue
		}
		b.isBusy.Store(true)
		s.running.Go(func() {
			s.resume(ctx, b)
			b.isBusy.Store(false)
			timer.Wake(p.pollNow)
		})
	}
	return max(wait, minPollPause)
}

// resume makes the next step of a waiting batch.
func (s *sender) resume(ctx context.Context, b *batch) {
	switch now := time.Now(); {
	case b.step == stepTake:
		s.takeAgain(ctx, b)
	case b.step == stepFinish:
		s.finish(ctx, b)
	case b.isStale(b.now(s.Now())):
		b.unuse()
		s.finish(ctx, b)
	case now.Before(b.retryAt):
		s.acquire(ctx, b, true)
	case s.retries.TryAcquire(1):
		defer s.retries.Release(1)
		s.retry(ctx, b)
	default: // too many retries at a time
		b.retryAt = now.Add(pollInterval)
	}
}

// takeAgain repeats the take of a batch. The batch ends if there was nothing to
// take.
func (s *sender) takeAgain(ctx context.Context, b *batch) {
	if _, err := s.callTake(ctx, b, classSlow, 1); err != nil {
		s.wait(ctx, b)
		return
	}
	if len(b.items) == 0 {
		s.removeBatch(b)
		return
	}
	b.retryAt = time.Now()
	b.requeueRest()
	s.wait(ctx, b)
}

// retry makes another attempt of a batch, if the queue allows it.
func (s *sender) retry(ctx context.Context, b *batch) {
	if !s.acquire(ctx, b, false) {
		return
	}
	if b.attempts > 0 {
		s.metrics.retries.Inc()
	}
	if s.sendBatch(ctx, b) {
		s.finish(ctx, b)
	} else {
		s.wait(ctx, b)
	}
}

// acquire renews the lease of a batch, and reports whether an attempt may begin
// now.
func (s *sender) acquire(ctx context.Context, b *batch, leaseOnly bool) bool {
	calling, cancel := callContext(ctx)
	defer cancel()
	wait, err := s.Queue.Acquire(calling, b.game.Policy, Renewal{Batch: b.id, Now: s.Now(), Lease: leaseMS, LeaseOnly: leaseOnly})
	now := time.Now()
	b.renewAt = now.Add(renewInterval)
	switch {
	case errors.Is(err, ErrNotInFlight):
		s.logLost(b)
		s.removeBatch(b)
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

// requeueAll requeues all waiting batches. The last taken goes first, so that
// items keep their order. A batch that cannot be requeued is lost with this
// node.
func (s *sender) requeueAll(ctx context.Context) {
	until := time.Now().Add(requeueTimeout)
	var partitions sync.WaitGroup
	for _, p := range s.partitions {
		waiting := p.copyWaiting()
		slices.Reverse(waiting)
		slices.SortStableFunc(waiting, func(a, b *batch) int { return b.startedAt.Compare(a.startedAt) })
		partitions.Go(func() {
			for _, b := range waiting {
				if time.Now().Before(until) {
					s.requeueBatch(ctx, b)
				}
			}
		})
	}
	partitions.Wait()
}

// requeueBatch makes the step that is left of a batch, and then requeues the
// rest.
func (s *sender) requeueBatch(ctx context.Context, b *batch) {
	switch b.step {
	case stepTake:
		s.takeAgain(ctx, b)
	case stepFinish:
		if !s.finish(ctx, b) {
			return
		}
	}
	if b.step == stepSend {
		b.dropStale(b.now(s.Now()))
		b.requeue()
		s.finish(ctx, b)
	}
}
