package eventq

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	smallPush        = 64 // of a game: its push may be made together with others'
	maxGamesPerPush  = 16 // games
	concurrentPushes = 16 // of a partition: single pushes, and such as are made together
)

// pushAll makes a push for each game while there is time, all at once, and gives
// those that still have one to make.
func (s *Service) pushAll(ctx context.Context, games []*game) (failing []*game) {
	parts := s.groupPushes(games)
	left := make([][]*game, len(parts))
	var pushes errgroup.Group // which share round trips
	pushes.SetLimit(concurrentPushes)
	for i, part := range parts {
		pushes.Go(func() error { left[i] = s.pushGroup(ctx, part); return nil })
	}
	_ = pushes.Wait() // there are no errors
	return slices.Concat(left...)
}

// partsOf makes up a push for each game, and parts them by which are made together.
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

// pushPart makes the pushes of some games, and gives those of which nobody knows
// whether it was made.
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

// few says whether a push may be made together with others.
func (p *Push) isSmall() bool {
	return 0 < len(p.Items) && len(p.Items) <= smallPush && !p.Items[0].Unique && p.Refused == nil
}

// pushFew makes a push for each game, and gives those where it did not; or all,
// where that is not known.
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

// push pushes what a game has collected. False: nobody knows whether it did.
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

// pushed follows a push that was made.
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
