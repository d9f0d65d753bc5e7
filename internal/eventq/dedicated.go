package eventq

import (
	"context"
	"time"
)

// dedicatedPollInterval is how often an idle dedicated reporter checks whether
// it is still needed.
const dedicatedPollInterval = time.Second

// startDedicated starts a dedicated reporter. The caller holds the lock of the
// game's reporter.
func (s *Service) startDedicated(ctx context.Context, g *game) {
	c := &g.reporter
	if c.due == nil {
		c.due = make(chan struct{}, 1)
	}
	c.dedicated++
	c.wantedDedicated = max(c.wantedDedicated, c.dedicated)
	s.running.Go(func() { s.runDedicated(ctx, g) })
}

// runDedicated reports a game while it is hot and belongs to this node.
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

// continueDedicated reports whether a dedicated reporter goes on, and starts
// another one if more are wanted.
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

// waitUntilDue waits until a batch may be due. It returns false if none is
// known to be due.
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
