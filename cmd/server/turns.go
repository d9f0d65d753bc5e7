package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
)

// turnsEvery is how late the day of a game may turn in which nothing happens,
// and how late a day that is over is summed.
const turnsEvery = 5 * time.Second

// turns has the days of games turn in which nothing happens, and sums those that
// are over.
type turns struct {
	games  []string
	ledger *ledger.Ledger
	boards *leaderboard.Applier
	log    *slog.Logger
}

// Run turns days until ctx ends.
func (t turns) Run(ctx context.Context) error {
	t.everyGame(ctx, "a day could not be turned; trying again", t.turn)
	return nil
}

// Sum sums the days that are over until ctx ends. It goes beside Run: the sums
// of a large day take minutes.
func (t turns) Sum(ctx context.Context) error {
	t.everyGame(ctx, "a day that is over could not be summed; trying again", t.sum)
	return nil
}

// everyGame does something for each game in turn, again and again.
func (t turns) everyGame(ctx context.Context, failed string, do func(context.Context, string) error) {
	tick := time.NewTicker(turnsEvery)
	defer tick.Stop()
	for {
		for _, game := range t.games {
			if err := do(ctx, game); err != nil && !errors.Is(err, context.Canceled) {
				t.log.Warn(failed, "game", game, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
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

func (t turns) sum(ctx context.Context, game string) error {
	days, err := t.ledger.SumDays(ctx, game)
	if days > 0 {
		t.log.Info("days that are over were summed", "game", game, "days", days)
	}
	return err
}
