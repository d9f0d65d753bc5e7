package eventq

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"laststand/internal/timer"
)

const concurrentPushes = 64 // of a partition at a time

// pushAll makes a push for each game, concurrently, while there is time. It lists
// the games that have more to push, and reports whether the store has answered.
func (s *intake) pushAll(ctx context.Context, games []*game) bool {
	var failures atomic.Int64
	var pushes errgroup.Group // concurrent pushes share round trips
	pushes.SetLimit(concurrentPushes)
	for _, g := range games {
		pushes.Go(func() error {
			if ctx.Err() != nil || !s.push(ctx, g) {
				failures.Add(1)
				g.partition.add(g)
			}
			return nil
		})
	}
	_ = pushes.Wait() // there are no errors
	return failures.Load() == 0
}

// push pushes the buffer of a game. It returns false if the outcome is unknown.
func (s *intake) push(ctx context.Context, g *game) bool {
	p := g.buffer.nextPush(&s.ids)
	p.Now = s.Now()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pushed, err := s.Queue.Push(ctx, g.Policy, *p)
	if errors.Is(err, ErrFull) {
		s.addBuffered(g.partition, -len(p.Items))
		g.buffer.dropItems(p, &s.ids)
		return s.push(ctx, g)
	}
	s.recordError("push", err)
	if err != nil {
		return false
	}
	s.addBuffered(g.partition, -len(p.Items))
	left := g.buffer.finishPush()
	if left >= flushSize {
		timer.Wake(g.partition.hasFullBuffer)
	}
	if left >= 0 {
		g.partition.add(g)
	}
	s.sender.pushed(g, pushed)
	return true
}
