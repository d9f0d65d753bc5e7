package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
)

// dayCheckInterval is how often the server checks each game for a new day and for past days to
// summarize. A new day of an idle game starts at most this late.
const dayCheckEvery = 5 * time.Second

// dayWorker starts the days of idle games and summarizes past days. In a busy game, the first
// result of a day starts the day.
type dayChanges struct {
	games  []string
	ledger *ledger.Ledger
	boards *leaderboard.Applier
	log    *slog.Logger
}

// Run starts days until ctx ends.
func (d dayChanges) Run(ctx context.Context) error {
	d.everyGame(ctx, "day change failed", d.begin)
	return nil
}

// RunSummaries summarizes past days until ctx ends. It is separate from Run, because the summary
// of a large day takes minutes.
func (d dayChanges) Sum(ctx context.Context) error {
	d.everyGame(ctx, "day summary failed", d.sum)
	return nil
}

// runForEachGame calls work for each game, every dayCheckInterval, until ctx ends. It logs errors
// with failureText.
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

// startDay starts the current day of a game, if it has not started.
func (d dayChanges) begin(ctx context.Context, game string) error {
	begun, err := d.ledger.Turn(ctx, game)
	if err != nil || !begun {
		return err
	}
	d.log.Info("day started", "game", game)
	return d.boards.Apply(ctx, game)
}

func (d dayChanges) sum(ctx context.Context, game string) error {
	days, err := d.ledger.SumDays(ctx, game)
	if days > 0 {
		d.log.Info("days summarized", "game", game, "days", days)
	}
	return err
}
