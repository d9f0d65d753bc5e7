package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
)

// dayCheckEvery bounds how late the day of an idle game begins, and how late the server
// summarizes a past day.
const dayCheckEvery = 5 * time.Second

// dayChanges begins the days of idle games and summarizes past days.
type dayChanges struct {
	games  []string
	ledger *ledger.Ledger
	boards *leaderboard.Applier
	log    *slog.Logger
}

// Run begins days until ctx ends.
func (d dayChanges) Run(ctx context.Context) error {
	d.everyGame(ctx, "day change failed", d.begin)
	return nil
}

// Sum summarizes past days until ctx ends. It runs beside Run, because a large day takes
// minutes.
func (d dayChanges) Sum(ctx context.Context) error {
	d.everyGame(ctx, "day summary failed", d.sum)
	return nil
}

// everyGame calls do for each game, every dayCheckEvery, until ctx ends.
func (d dayChanges) everyGame(ctx context.Context, failed string, do func(context.Context, string) error) {
	tick := time.NewTicker(dayCheckEvery)
	defer tick.Stop()
	for {
		for _, game := range d.games {
			if err := do(ctx, game); err != nil && !errors.Is(err, context.Canceled) {
				d.log.Warn(failed, "game", game, "error", err, "retry_in", dayCheckEvery)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (d dayChanges) begin(ctx context.Context, game string) error {
	begun, err := d.ledger.Turn(ctx, game)
	if err != nil || !begun {
		return err
	}
	d.log.Info("day began", "game", game)
	return d.boards.Apply(ctx, game)
}

func (d dayChanges) sum(ctx context.Context, game string) error {
	days, err := d.ledger.SumDays(ctx, game)
	if days > 0 {
		d.log.Info("days summarized", "game", game, "days", days)
	}
	return err
}
