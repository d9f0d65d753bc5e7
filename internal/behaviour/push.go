package behaviour

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	fewItems     = 64 // of a game: its push may be made together with others'
	togetherMost = 16 // games
	atOnce       = 16 // pushes of a partition that are made by themselves
)

// pushAll makes a push for each game while there is time, and gives those that
// still have one to make.
func (s *Service) pushAll(ctx context.Context, games []*game) (failing []*game) {
	games, failing = s.pushTogether(ctx, games)
	known := make([]bool, len(games))
	var pushes errgroup.Group // which share round trips
	pushes.SetLimit(atOnce)
	for i, g := range games {
		pushes.Go(func() error {
			known[i] = ctx.Err() == nil && s.push(ctx, g)
			return nil
		})
	}
	_ = pushes.Wait() // there are no errors
	for i, g := range games {
		if !known[i] {
			failing = append(failing, g)
		}
	}
	return failing
}

// pushTogether makes pushes of few items together, and gives the games whose push
// is to be made by itself; failing are those of which nobody knows whether it was.
func (s *Service) pushTogether(ctx context.Context, games []*game) (single, failing []*game) {
	var few []*game
	for _, g := range games {
		if p := g.collected.next(&s.ids); p.few() {
			few = append(few, g)
		} else {
			single = append(single, g)
		}
	}
	for part := range slices.Chunk(few, togetherMost) {
		if len(part) == 1 || ctx.Err() != nil {
			single = append(single, part...)
			continue
		}
		left, known := s.pushFew(ctx, part)
		if known {
			single = append(single, left...)
		} else {
			failing = append(failing, left...)
		}
	}
	return single, failing
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
