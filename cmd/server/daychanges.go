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
const dayCheckInterval = 5 * time.Second

// dayWorker starts the days of idle games and summarizes past days. In a busy game, the first
// result of a day starts the day.
type dayWorker struct {
	games        []string
	ledger       *ledger.Days
	leaderboards *leaderboard.Applier
	log          *slog.Logger
}

// Run starts days until ctx ends.
func (d dayWorker) Run(ctx context.Context) error {
	d.runForEachGame(ctx, "day change failed", d.startDay)
	return nil
}

// RunSummaries summarizes past days until ctx ends. It is separate from Run, because the summary
// of a large day takes minutes.
func (d dayWorker) RunSummaries(ctx context.Context) error {
	d.runForEachGame(ctx, "day summary failed", d.summarizeDays)
	return nil
}

// runForEachGame calls work for each game, every dayCheckInterval, until ctx ends. It logs errors
// with failureText.
func (d dayWorker) runForEachGame(ctx context.Context, failureText string, work func(context.Context, string) error) {
	tick := time.NewTicker(dayCheckInterval)
	defer tick.Stop()
	for {
		for _, game := range d.games {
			if err := work(ctx, game); err != nil && !errors.Is(err, context.Canceled) {
				d.log.Warn(failureText, "game", game, "error", err, "retry_in", dayCheckInterval)
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
func (d dayWorker) startDay(ctx context.Context, game string) error {
	started, err := d.ledger.StartNewDays(ctx, game)
	if err != nil || !started {
		return err
	}
	d.log.Info("day started", "game", game)
	return d.leaderboards.Apply(ctx, game)
}

func (d dayWorker) summarizeDays(ctx context.Context, game string) error {
	days, err := d.ledger.SumDays(ctx, game)
	if days > 0 {
		d.log.Info("days summarized", "game", game, "days", days)
	}
	return err
}
