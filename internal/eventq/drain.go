package eventq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"laststand/internal/timer"
)

// ErrPaused says that the game's queue is paused.
var ErrPaused = errors.New("the game is paused")

// drainInterval is how often Drain makes a queue due and looks whether it is
// empty.
const drainInterval = 200 * time.Millisecond

// Drain makes everything in a game's queue due, at any node. It waits until
// nothing is queued, in flight, or in the buffer of this node. It returns
// ErrNoQueue, ErrPaused, or an error of the store or the context.
func (s *Service) Drain(ctx context.Context, game string) error {
	g := s.games[game]
	if g == nil || g.sink == nil {
		return ErrNoQueue
	}
	g.sending.drains.Add(1)
	defer g.sending.drains.Add(-1)
	for {
		empty, err := s.flushNow(ctx, g)
		if err != nil || empty {
			return err
		}
		timer.Sleep(ctx, drainInterval)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("drain %s: %w", game, err)
		}
	}
}

// flushNow makes due what is queued, and reports whether nothing is left.
func (s *Service) flushNow(ctx context.Context, g *game) (empty bool, err error) {
	if err := s.Admin.FlushNow(ctx, g.Game, s.Now()); err != nil {
		return false, err
	}
	timer.Wake(g.partition.pollNow)
	statuses, err := s.Admin.Status(ctx, []string{g.Game}, s.Now())
	if err != nil || len(statuses) == 0 {
		return false, err
	}
	if statuses[0].Paused != "" {
		return false, fmt.Errorf("drain %s: %w", g.Game, ErrPaused)
	}
	return g.buffer.isEmpty() && statuses[0].Counts.Queued+statuses[0].Counts.InFlight == 0, nil
}
