package eventq

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	renewEvery = 5 * time.Second
	againEvery = time.Second // a renewal or settlement that failed
	maxParked  = 200_000     // items of batches that wait; beyond, they go back to their queues
	givingBack = 5 * time.Second
)

// park has a batch wait for its retry, or to be taken or settled again.
func (s *Service) park(ctx context.Context, b *batch) {
	b.renewAt = time.Now().Add(renewEvery)
	if b.closed || b.doubtful {
		b.renewAt = time.Now().Add(againEvery)
	}
	if b.waits {
		signal(b.game.partition.nudge)
		return
	}
	if !b.closed && !b.doubtful && s.parked.Load() >= maxParked {
		b.game.course.coolDown(backoff(maxTries))
		b.giveBack()
		s.settle(ctx, b)
		return
	}
	b.waits, b.weight = true, len(b.items)
	s.parked.Add(int64(b.weight))
	b.game.course.setAside(1)
	b.game.partition.addWaiting(b)
}

// tendWaiting looks after the batches of a partition that wait, and says when to
// look again. Those that are being tried are left alone.
func (s *Service) tendWaiting(ctx context.Context, p *partition) time.Duration {
	wait := idleEvery
	for _, b := range p.copyWaiting() {
		if ctx.Err() == nil && b.mu.TryLock() {
			s.tendBatch(ctx, b)
			wait = min(wait, b.untilTended())
			b.mu.Unlock()
		}
	}
	return max(wait, pollPause)
}

// tendBatch does what is due to a batch that waits.
func (s *Service) tendBatch(ctx context.Context, b *batch) {
	now := time.Now()
	b.dropStale(b.now(s.Now()))
	switch {
	case b.over:
	case (b.closed || b.doubtful) && now.Before(b.renewAt):
	case b.doubtful:
		s.takeAgain(ctx, b)
	case b.closed || len(b.items) == 0:
		s.settle(ctx, b)
	case !b.called && !now.Before(b.tryAt):
		b.called = true
		s.enter(ctx, s.slow, errand{batch: b})
	case !now.Before(b.renewAt):
		s.permit(ctx, b, true)
	}
}

func (b *batch) untilTended() time.Duration {
	switch {
	case b.over:
		return idleEvery
	case b.closed, b.doubtful, b.called:
		return time.Until(b.renewAt)
	}
	return min(time.Until(b.renewAt), time.Until(b.tryAt))
}

// retry tries a batch again that has waited, if it may.
func (s *Service) retry(ctx context.Context, b *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.called = false
	b.dropStale(b.now(s.Now()))
	switch {
	case b.over || b.closed || ctx.Err() != nil:
	case len(b.items) == 0:
		s.settle(ctx, b)
	case s.permit(ctx, b, false):
		if b.tries > 0 {
			s.metrics.retries.Inc()
		}
		if s.try(ctx, b, nil) {
			s.settle(ctx, b)
		}
	}
}

// permit renews the lease of a batch, and says whether it may be tried now.
func (s *Service) permit(ctx context.Context, b *batch, only bool) bool {
	calling, cancel := call(ctx)
	defer cancel()
	wait, err := s.Queue.Permit(calling, b.game.Terms, Renewal{Batch: b.id, Now: s.Now(), Lease: leaseMS, Only: only})
	now := time.Now()
	b.renewAt = now.Add(renewEvery)
	switch {
	case errors.Is(err, ErrGone):
		s.end(b, true)
	case err != nil:
		s.note("permit", err)
		b.renewAt = now.Add(againEvery)
		b.tryAt = later(b.tryAt, b.renewAt)
	case only:
	case wait > 0:
		s.metrics.limited.Inc()
		b.tryAt = now.Add(min(max(wait, pollPause), renewEvery))
	default:
		return true
	}
	return false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// leave gives what waits back to the queues, those taken last first, so that
// all come in their order. Whatever that fails for is lost with this node.
func (s *Service) leave(ctx context.Context) {
	until := time.Now().Add(givingBack)
	var partitions sync.WaitGroup
	for _, p := range s.partitions {
		waiting := p.copyWaiting()
		slices.Reverse(waiting)
		slices.SortStableFunc(waiting, func(a, b *batch) int { return b.began.Compare(a.began) })
		if len(waiting) > 0 {
			partitions.Go(func() { s.leavePartition(ctx, waiting, until) })
		}
	}
	partitions.Wait()
}

func (s *Service) leavePartition(ctx context.Context, waiting []*batch, until time.Time) {
	for _, b := range waiting {
		if time.Now().After(until) {
			return
		}
		b.mu.Lock()
		s.leaveBatch(ctx, b)
		b.mu.Unlock()
	}
}

func (s *Service) leaveBatch(ctx context.Context, b *batch) {
	if b.doubtful {
		s.takeAgain(ctx, b)
	}
	if b.over || b.doubtful {
		return
	}
	b.dropStale(b.now(s.Now()))
	b.giveBack()
	s.settle(ctx, b)
}
