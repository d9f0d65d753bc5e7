package eventq

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	fewItems     = 64 // of a game: its push may be made together with others'
	togetherMost = 16 // games
	atOnce       = 16 // of a partition: single pushes, and such as are made together
)

// pushAll makes a push for each game while there is time, all at once, and gives
// those that still have one to make.
func (s *Service) pushAll(ctx context.Context, games []*game) (failing []*game) {
	parts := s.partsOf(games)
	left := make([][]*game, len(parts))
	var pushes errgroup.Group // which share round trips
	pushes.SetLimit(atOnce)
	for i, part := range parts {
		pushes.Go(func() error { left[i] = s.pushPart(ctx, part); return nil })
	}
	_ = pushes.Wait() // there are no errors
	return slices.Concat(left...)
}

// partsOf makes up a push for each game, and parts them by which are made together.
func (s *Service) partsOf(games []*game) (parts [][]*game) {
	var few []*game
	for i, g := range games {
		if p := g.collected.next(&s.ids); p.few() {
			few = append(few, g)
		} else {
			parts = append(parts, games[i:i+1])
		}
	}
	return slices.AppendSeq(parts, slices.Chunk(few, togetherMost))
}

// pushPart makes the pushes of some games, and gives those of which nobody knows
// whether it was made.
func (s *Service) pushPart(ctx context.Context, games []*game) (failing []*game) {
	if len(games) > 1 && ctx.Err() == nil {
		left, known := s.pushFew(ctx, games)
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
func (p *Push) few() bool {
	return 0 < len(p.Items) && len(p.Items) <= fewItems && !p.Items[0].Once && p.Refused == nil
}

// pushFew makes a push for each game, and gives those where it did not; or all,
// where that is not known.
func (s *Service) pushFew(ctx context.Context, games []*game) (left []*game, known bool) {
	all, now := make([]GamePush, len(games)), s.Now()
	for i, g := range games {
		g.collected.push.Now = now
		all[i] = GamePush{g.Terms, *g.collected.push}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pushed, err := s.Queue.PushAll(ctx, all)
	s.note("push", err)
	if err != nil {
		return games, false
	}
	for i, g := range games {
		if pushed[i].Queued == 0 {
			left = append(left, g)
		} else {
			s.pushed(g, pushed[i])
		}
	}
	return left, true
}

// push pushes what a game has collected. False: nobody knows whether it did.
func (s *Service) push(ctx context.Context, g *game) bool {
	p := g.collected.next(&s.ids)
	p.Now = s.Now()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pushed, err := s.Queue.Push(ctx, g.Terms, *p)
	if errors.Is(err, ErrFull) {
		s.held.Add(-int64(len(p.Items)))
		g.collected.giveUp(p, &s.ids)
		return s.push(ctx, g)
	}
	s.note("push", err)
	if err != nil {
		return false
	}
	s.pushed(g, pushed)
	return true
}

// pushed follows a push that was made.
func (s *Service) pushed(g *game, pushed Pushed) {
	s.held.Add(-int64(len(g.collected.push.Items)))
	left := g.collected.done()
	if left >= pushful {
		signal(g.partition.full)
	}
	if left >= 0 {
		g.partition.list(g)
	}
	s.announce(g, pushed)
}
