package eventq

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	smallPush        = 64 // items: such a push may be grouped with those of other games
	maxGamesPerPush  = 16 // games of a grouped push
	concurrentPushes = 16 // pushes of a partition at a time
)

// pushAll makes a push for each game, concurrently, while there is time. It
// returns the games whose push is not done.
func (s *Service) pushAll(ctx context.Context, games []*game) (failing []*game) {
	parts := s.groupPushes(games)
	left := make([][]*game, len(parts))
	var pushes errgroup.Group // concurrent pushes share round trips
	pushes.SetLimit(concurrentPushes)
	for i, part := range parts {
		pushes.Go(func() error { left[i] = s.pushGroup(ctx, part); return nil })
	}
	_ = pushes.Wait() // there are no errors
	return slices.Concat(left...)
}

// groupPushes prepares a push for each game, and groups small ones.
func (s *Service) groupPushes(games []*game) (parts [][]*game) {
	var small []*game
	for i, g := range games {
		if p := g.buffer.nextPush(&s.ids); p.isSmall() {
			small = append(small, g)
		} else {
			parts = append(parts, games[i:i+1])
		}
	}
	return slices.AppendSeq(parts, slices.Chunk(small, maxGamesPerPush))
}

// pushGroup makes the pushes of some games. It returns the games whose outcome
// is unknown.
func (s *Service) pushGroup(ctx context.Context, games []*game) (failing []*game) {
	if len(games) > 1 && ctx.Err() == nil {
		left, known := s.pushTogether(ctx, games)
		if !known {
			return left
		}
		games = left
	}
	for _, g := range games {
		if ctx.Err() != nil || !s.push(ctx, g) {
			failing = append(failing, g)
		}
	}
	return failing
}

// isSmall reports whether a push may be grouped with others.
func (p *Push) isSmall() bool {
	return 0 < len(p.Items) && len(p.Items) <= smallPush && !p.Items[0].Unique && p.Refused == nil
}

// pushTogether makes the pushes of several games in one call. It returns the
// games that still need a push of their own; all games if the outcome is
// unknown.
func (s *Service) pushTogether(ctx context.Context, games []*game) (left []*game, known bool) {
	all, now := make([]GamePush, len(games)), s.Now()
	for i, g := range games {
		g.buffer.push.Now = now
		all[i] = GamePush{g.Policy, *g.buffer.push}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pushed, err := s.Queue.PushAll(ctx, all)
	s.recordError("push", err)
	if err != nil {
		return games, false
	}
	for i, g := range games {
		if pushed[i].Queued == 0 {
			left = append(left, g)
		} else {
			s.afterPush(g, pushed[i])
		}
	}
	return left, true
}

// push pushes the buffer of a game. It returns false if the outcome is unknown.
func (s *Service) push(ctx context.Context, g *game) bool {
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
func (s *Service) afterPush(g *game, afterPush PushResult) {
	s.buffered.Add(-int64(len(g.buffer.push.Items)))
	left := g.buffer.finishPush()
	if left >= flushSize {
		signal(g.partition.hasFullBuffer)
	}
	if left >= 0 {
		g.partition.add(g)
	}
	s.notifyPushed(g, afterPush)
}
