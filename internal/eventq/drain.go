package eventq

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrPaused says that nothing is taken from a game's queue until it is resumed.
var ErrPaused = errors.New("the game is paused")

// drainEvery is how often a drain hurries a queue and looks whether it is empty.
const drainInterval = 200 * time.Millisecond

// Drain has everything in a game's queue reported at once, by whichever node
// reports it, and waits until nothing is queued or in flight, nor collected
// here: ErrNoQueue, ErrPaused, the store's errors, or the context's.
func (s *Service) Drain(ctx context.Context, game string) error {
	g := s.games[game]
	if g == nil || g.sink == nil {
		return ErrNoQueue
	}
	g.reporter.drains.Add(1)
	defer g.reporter.drains.Add(-1)
	for {
		empty, err := s.flushNow(ctx, g)
		if err != nil || empty {
			return err
		}
		sleep(ctx, drainInterval)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("drain %s: %w", game, err)
		}
	}
}

// hurry makes what is queued due, and says whether nothing is left.
func (s *Service) flushNow(ctx context.Context, g *game) (empty bool, err error) {
	if err := s.Admin.FlushNow(ctx, g.Game, s.Now()); err != nil {
		return false, err
	}
	signal(g.partition.pollNow)
	statuses, err := s.Admin.Status(ctx, []string{g.Game}, s.Now())
	if err != nil || len(statuses) == 0 {
		return false, err
	}
	if statuses[0].Paused != "" {
		return false, fmt.Errorf("drain %s: %w", g.Game, ErrPaused)
	}
	return g.buffer.isEmpty() && statuses[0].Counts.Queued+statuses[0].Counts.InFlight == 0, nil
}
