package eventq

import (
	"context"
	"time"
)

// lookEvery is how often an idle reporter of a game's own looks whether it is
// still needed.
const lookEvery = time.Second

// startOwn gives a game a reporter of its own; its course is locked.
func (s *Service) startOwn(ctx context.Context, g *game) {
	c := &g.course
	if c.due == nil {
		c.due = make(chan struct{}, 1)
	}
	c.own++
	c.wanted = max(c.wanted, c.own)
	s.running.Go(func() { s.reportOwn(ctx, g) })
}

// reportOwn reports a hot game while it is one, and this node's.
func (s *Service) reportOwn(ctx context.Context, g *game) {
	var next int64
	for due := true; s.staysOwn(ctx, g); {
		if due {
			due, next = s.step(ctx, g, nil)
		}
		if !due {
			due = s.awaitDue(ctx, g, next)
		}
	}
}

// staysOwn says whether one of a game's own reporters goes on, and starts
// another where more are wanted.
func (s *Service) staysOwn(ctx context.Context, g *game) bool {
	c := &g.course
	c.mu.Lock()
	defer c.mu.Unlock()
	stays := ctx.Err() == nil && g.hot() && s.owns(g.partition) && c.own <= c.wanted
	switch {
	case stays && c.own < c.wanted:
		s.startOwn(ctx, g)
	case !stays:
		c.own--
		c.wanted = min(c.wanted, c.own)
		signal(g.partition.nudge)
	}
	return stays
}

// awaitDue waits until a batch is due; false: it may not be.
func (s *Service) awaitDue(ctx context.Context, g *game, next int64) bool {
	timer := time.NewTimer(until(next, s.Now(), lookEvery))
	defer timer.Stop()
	select {
	case <-timer.C:
		return next > 0
	case <-g.course.due:
		return true
	case <-ctx.Done():
		return false
	}
}
