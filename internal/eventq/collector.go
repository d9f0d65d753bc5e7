package eventq

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/timer"
)

const (
	flushDelay       = 50 * time.Millisecond  // an offered item waits at most this long for others
	pushRetryDelay   = 500 * time.Millisecond // before a failed push is repeated, or up to half as much more
	flushTimeout     = 4 * time.Second        // how long a stopping node goes on pushing
	lossTimeout      = time.Second            // and how long it then counts what it could not push
	concurrentPushes = 64                     // of a partition at a time
)

// runCollector pushes what is offered to the games of a partition until the
// context ends. Then it pushes or counts what is left. It repeats a push whose
// outcome is unknown.
func (s *intake) runCollector(ctx context.Context, p *partition) {
	pushing, cancel := withGrace(ctx, flushTimeout)
	defer cancel()
	isFilled := func(g *game) bool { return !g.buffer.isEmpty() }
	for ctx.Err() == nil || pushing.Err() == nil && slices.ContainsFunc(p.games, isFilled) {
		p.waitForItems(ctx)
		if !s.pushAll(pushing, p) {
			timer.Sleep(pushing, pushRetryDelay+rand.N(pushRetryDelay/2)) //nolint:gosec // a wait is no secret
			timer.Wake(p.hasItems)
		}
	}
	s.countLosses(pushing, p)
}

// waitForItems waits for an item, and then for others, until there are many.
func (p *partition) waitForItems(ctx context.Context) {
	select {
	case <-p.hasItems:
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(flushDelay):
	case <-p.hasFullBuffer:
	case <-ctx.Done():
	}
}

// pushAll makes a push for each game that has something to push, concurrently, while
// there is time. It reports whether the store has answered.
func (s *intake) pushAll(ctx context.Context, p *partition) bool {
	var pushes errgroup.Group // concurrent pushes share round trips
	pushes.SetLimit(concurrentPushes)
	for _, g := range p.games {
		if !g.buffer.isEmpty() {
			pushes.Go(func() error { return s.push(ctx, g) })
		}
	}
	return pushes.Wait() == nil
}

// push pushes the buffer of a game. After an error the outcome is unknown.
func (s *intake) push(ctx context.Context, g *game) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p := g.buffer.nextPush(&s.ids)
	p.Now = s.Now()
	calling, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pushed, err := s.Queue.Push(calling, g.Policy, *p)
	s.recordError("push", err)
	if err != nil {
		return err
	}
	s.addBuffered(g.partition, -len(p.Items))
	if left := g.buffer.finishPush(); left > 0 {
		timer.Wake(g.partition.hasItems)
		if left >= flushSize {
			timer.Wake(g.partition.hasFullBuffer)
		}
	}
	s.sender.pushed(g, pushed)
	return nil
}

// countLosses closes the buffers. It counts what they held in the metrics, and in the
// store what cannot be there.
func (s *intake) countLosses(ctx context.Context, p *partition) {
	for _, g := range p.games {
		lost := g.buffer.close()
		s.addBuffered(p, -lost)
		s.metrics.flushLost.Add(float64(lost))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lossTimeout)
	defer cancel()
	s.pushAll(ctx, p)
}
