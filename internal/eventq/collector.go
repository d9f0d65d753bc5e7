package eventq

import (
	"context"
	"math/rand/v2"
	"time"

	"laststand/internal/timer"
)

const (
	flushDelay     = 50 * time.Millisecond  // an offered item waits at most this long for others
	pushRetryDelay = 500 * time.Millisecond // before a failed push is repeated, or up to half as much more
	flushTimeout   = 4 * time.Second        // how long a stopping node goes on pushing
	lossTimeout    = time.Second            // and how long it then counts what it could not push
)

// runCollector pushes what is offered to the games of a partition until the
// context ends. Then it pushes or counts what is left. It repeats a push whose
// outcome is unknown.
func (s *intake) runCollector(ctx context.Context, p *partition) {
	pushing, cancel := withGrace(ctx, flushTimeout)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case <-p.hasItems:
			p.waitForItems(ctx)
		case <-ctx.Done():
		}
		if !s.pushAll(pushing, p.removeListed()) {
			timer.Sleep(ctx, pushRetryDelay+rand.N(pushRetryDelay/2)) //nolint:gosec // a wait is no secret
		}
	}
	for left := p.removeListed(); len(left) > 0 && pushing.Err() == nil; left = p.removeListed() {
		if !s.pushAll(pushing, left) {
			timer.Sleep(pushing, pushRetryDelay)
		}
	}
	s.countLosses(pushing, p)
}

// withGrace returns a context that ends the given time after another one.
func withGrace(ctx context.Context, d time.Duration) (longer context.Context, cancel context.CancelFunc) {
	longer, cancelLonger := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancelLonger) })
	return longer, func() { stop(); cancelLonger() }
}

func (p *partition) waitForItems(ctx context.Context) {
	latest := time.NewTimer(flushDelay)
	defer latest.Stop()
	select {
	case <-latest.C:
	case <-p.hasFullBuffer:
	case <-ctx.Done():
	}
}

// countLosses closes the buffers. It counts what they held in the metrics, and in the
// store what cannot be there.
func (s *intake) countLosses(ctx context.Context, p *partition) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lossTimeout)
	defer cancel()
	for _, g := range p.games {
		lost, count := g.buffer.close(&s.ids)
		s.addBuffered(p, -lost)
		s.metrics.flushLost.Add(float64(lost))
		if count.Refused != nil && ctx.Err() == nil {
			count.Now = s.Now()
			_, err := s.Queue.Push(ctx, g.Policy, count)
			s.recordError("push", err)
		}
	}
}
