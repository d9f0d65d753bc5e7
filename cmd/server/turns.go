package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
)

// turnsEvery is how late the day of a game may turn in which nothing happens.
const turnsEvery = 5 * time.Second

// turns has the days of games turn in which nothing happens.
type turns struct {
	games  []string
	ledger *ledger.Ledger
	boards *leaderboard.Applier
	log    *slog.Logger
}

// Run turns days until ctx ends.
func (t turns) Run(ctx context.Context) error {
	tick := time.NewTicker(turnsEvery)
	defer tick.Stop()
	for {
		for _, game := range t.games {
			if err := t.turn(ctx, game); err != nil && !errors.Is(err, context.Canceled) {
				t.log.Warn("a day could not be turned; trying again", "game", game, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (t turns) turn(ctx context.Context, game string) error {
	turned, err := t.ledger.Turn(ctx, game)
	if err != nil || !turned {
		return err
	}
	t.log.Info("a day turned", "game", game)
	return t.boards.Apply(ctx, game)
}
