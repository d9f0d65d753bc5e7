package eventq

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"laststand/internal/timer"
)

const (
	flushDelay     = 50 * time.Millisecond  // an offered item waits at most this long for others
	pushRetryDelay = 500 * time.Millisecond // before a failed push is repeated, or up to half as much more
	flushTimeout   = 4 * time.Second        // how long a stopping node goes on pushing
	lossTimeout    = time.Second            // and how long it then counts what it could not push
)

// runCollector pushes what is offered until the context ends. Then it pushes or counts
// what is left. Each game with a filled buffer has its own goroutine, so that an
// unreachable store of one game holds up no other.
func (s *intake) runCollector(ctx context.Context) {
	pushing, cancel := withGrace(ctx, flushTimeout)
	defer cancel()
	var pushes sync.WaitGroup // concurrent pushes share round trips
	for isOver := false; !isOver || len(s.filled) > 0; {
		select {
		case g := <-s.filled:
			pushes.Go(func() { s.pushBuffer(ctx, pushing, g) })
		case <-ctx.Done():
			isOver = true
		}
	}
	pushes.Wait()
	s.countLosses(pushing)
}

// pushBuffer pushes the buffer of a game until it is empty, or the second context ends.
// It waits for more items before each push, unless many are left of the one before. The end
// of the first context ends these waits.
func (s *intake) pushBuffer(ctx, pushing context.Context, g *game) {
	for left := 0; pushing.Err() == nil; {
		if left < MaxPush {
			timer.Sleep(ctx, flushDelay)
		}
		p := g.buffer.nextPush(s.ids)
		if p == nil {
			return
		}
		for s.push(pushing, g, p) != nil { // its outcome is unknown
			if !timer.Sleep(pushing, pushRetryDelay+rand.N(pushRetryDelay/2)) { //nolint:gosec // a wait is no secret
				return
			}
		}
		left = g.buffer.finishPush()
	}
}

func (s *intake) push(ctx context.Context, g *game, p *Push) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p.Now = s.Now()
	pushed, err := s.Queue.Push(ctx, g.Policy, *p)
	s.recordError("push", err)
	if err == nil {
		s.buffered.Add(int64(-len(p.Items)))
		s.sender.pushed(g, pushed)
	}
	return err
}

// countLosses closes the buffers. It counts what they held in the metrics, and in the
// store what cannot be there.
func (s *intake) countLosses(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lossTimeout)
	defer cancel()
	var pushes sync.WaitGroup
	for _, g := range s.games {
		lost := g.buffer.close()
		s.buffered.Add(int64(-lost))
		s.metrics.flushLost.Add(float64(lost))
		if p := g.buffer.nextPush(s.ids); p != nil {
			pushes.Go(func() { _ = s.push(ctx, g, p) })
		}
	}
	pushes.Wait()
}
