package eventq

import (
	"context"
	"time"
)

// lookEvery is how often an idle reporter of a game's own looks whether it is
// still needed.
const dedicatedPollInterval = time.Second

// startOwn gives a game a reporter of its own; its course is locked.
func (s *Service) startDedicated(ctx context.Context, g *game) {
	c := &g.reporter
	if c.due == nil {
		c.due = make(chan struct{}, 1)
	}
	c.dedicated++
	c.wantedDedicated = max(c.wantedDedicated, c.dedicated)
	s.running.Go(func() { s.runDedicated(ctx, g) })
}

// reportOwn reports a hot game while it is one, and this node's.
func (s *Service) runDedicated(ctx context.Context, g *game) {
	var next int64
	for due := true; s.continueDedicated(ctx, g); {
		if due {
			due, next = s.takeAndSend(ctx, g, nil)
		}
		if !due {
			due = s.waitUntilDue(ctx, g, next)
		}
	}
}

// staysOwn says whether one of a game's own reporters goes on, and starts
// another where more are wanted.
func (s *Service) continueDedicated(ctx context.Context, g *game) bool {
	c := &g.reporter
	c.mu.Lock()
	defer c.mu.Unlock()
	goesOn := ctx.Err() == nil && g.isHot() && s.owns(g.partition) && c.dedicated <= c.wantedDedicated
	switch {
	case goesOn && c.dedicated < c.wantedDedicated:
		s.startDedicated(ctx, g)
	case !goesOn:
		c.dedicated--
		c.wantedDedicated = min(c.wantedDedicated, c.dedicated)
		signal(g.partition.pollNow)
	}
	return goesOn
}

// awaitDue waits until a batch is due; false: it may not be.
func (s *Service) waitUntilDue(ctx context.Context, g *game, next int64) bool {
	timer := time.NewTimer(waitUntil(next, s.Now(), dedicatedPollInterval))
	defer timer.Stop()
	select {
	case <-timer.C:
		return next > 0
	case <-g.reporter.due:
		return true
	case <-ctx.Done():
		return false
	}
}
