package eventq

import (
	"context"
	"math/rand/v2"
	"time"

	"laststand/internal/timer"
)

const (
	pushRetryDelay = 500 * time.Millisecond // before a failed push is repeated, or up to half as much more
	flushTimeout   = 4 * time.Second        // how long a stopping node goes on pushing
	lossTimeout    = time.Second            // and how long it then counts what it could not push
)

// runCollector pushes what is offered to the games of a partition until the
// context ends. Then it pushes or counts what is left. It repeats a push whose
// outcome is unknown. It serves other games while that push waits.
func (s *intake) runCollector(ctx context.Context, p *partition) {
	pushing, cancel := withGrace(ctx, flushTimeout)
	defer cancel()
	var failing []*game
	var retry <-chan time.Time // to repeat those
	for ctx.Err() == nil {
		if len(failing) > 0 && retry == nil {
			retry = time.After(pushRetryDelay + rand.N(pushRetryDelay/2)) //nolint:gosec // a wait is no secret
		}
		select {
		case <-p.hasItems:
			p.waitForItems(ctx)
			failing = append(failing, s.pushAll(pushing, p.removeDue(time.Now()))...)
		case <-retry:
			retry = nil
			failing = s.pushAll(pushing, failing)
		case <-ctx.Done():
		}
	}
	s.flushAtEnd(pushing, p, failing)
}

// withGrace returns a context that ends the given time after another one.
func withGrace(ctx context.Context, d time.Duration) (longer context.Context, cancel context.CancelFunc) {
	longer, cancel = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return longer, cancel
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

// flushAtEnd ends the collector of a partition. It pushes what is left while
// there is time, and counts the rest as Shutdown.
func (s *intake) flushAtEnd(pushing context.Context, p *partition, left []*game) {
	for left = append(left, p.removeListed()...); len(left) > 0 && pushing.Err() == nil; {
		if left = s.pushAll(pushing, left); len(left) > 0 {
			timer.Sleep(pushing, pushRetryDelay)
		}
		left = append(left, p.removeListed()...)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(pushing), lossTimeout)
	defer cancel()
	for _, g := range p.games {
		if l, some := g.buffer.takeLosses(); some {
			s.countLosses(ctx, g, l)
		}
	}
}

// countLosses counts lost items in the metrics, and in the store those that
// cannot be there yet.
func (s *intake) countLosses(ctx context.Context, g *game, l losses) {
	s.buffered.Add(-l.untried - l.unknown)
	s.metrics.flushLost.Add(float64(l.untried + l.unknown))
	if l.untried > 0 {
		if l.refused == nil {
			l.refused = map[Reason]int64{}
		}
		l.refused[Shutdown] = l.untried
	}
	if l.refused == nil || ctx.Err() != nil {
		return
	}
	_, err := s.Queue.Push(ctx, g.Policy, Push{ID: s.ids.next(), Refused: l.refused, Now: s.Now()})
	s.recordError("push", err)
}
