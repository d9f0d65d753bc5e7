package eventq

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"laststand/internal/timer"
)

const concurrentPushes = 64 // of a partition at a time

// pushAll makes a push for each game, concurrently, while there is time. It
// returns the games whose outcome is unknown.
func (s *intake) pushAll(ctx context.Context, games []*game) (failing []*game) {
	isDone := make([]atomic.Bool, len(games))
	var pushes errgroup.Group // concurrent pushes share round trips
	pushes.SetLimit(concurrentPushes)
	for i, g := range games {
		pushes.Go(func() error { isDone[i].Store(ctx.Err() == nil && s.push(ctx, g)); return nil })
	}
	_ = pushes.Wait() // there are no errors
	for i, g := range games {
		if !isDone[i].Load() {
			failing = append(failing, g)
		}
	}
	return failing
}

// push pushes the buffer of a game. It returns false if the outcome is unknown.
func (s *intake) push(ctx context.Context, g *game) bool {
	p := g.buffer.nextPush(&s.ids)
	p.Now = s.Now()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pushed, err := s.Queue.Push(ctx, g.Policy, *p)
	if errors.Is(err, ErrFull) {
		s.buffered.Add(-int64(len(p.Items)))
		g.buffer.dropItems(p, &s.ids)
		return s.push(ctx, g)
	}
	s.recordError("push", err)
	if err != nil {
		return false
	}
	s.afterPush(g, pushed)
	return true
}

// afterPush updates the state after a successful push.
func (s *intake) afterPush(g *game, result PushResult) {
	s.buffered.Add(-int64(len(g.buffer.push.Items)))
	left := g.buffer.finishPush()
	if left >= flushSize {
		timer.Wake(g.partition.hasFullBuffer)
	}
	if left >= 0 {
		g.partition.add(g)
	}
	s.sender.pushed(g, result)
}
