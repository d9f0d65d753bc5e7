package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/timer"
)

// backgroundTask runs until its context ends. It returns nil then.
type backgroundTask = func(context.Context) error

// startTasks starts each task in its own goroutine. It logs the error of a task that fails. The
// returned function stops the tasks and waits until all have returned.
func startTasks(log *slog.Logger, tasks ...backgroundTask) (stopAndWait func()) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() {
			if err := task(ctx); err != nil {
				log.Error("background task failed", "error", err)
			}
		})
	}
	return func() {
		stop()
		running.Wait()
	}
}

// maintenanceInterval is how often the server looks for new days, for past days to summarize
// and for old erasures. A new day of an idle game starts at most this late.
const maintenanceInterval = 5 * time.Second

func nowAndEvery(interval time.Duration, work func(context.Context)) backgroundTask {
	return func(ctx context.Context) error {
		work(ctx)
		timer.Every(ctx, interval, work)
		return nil
	}
}

// forEachGame returns a function that does work for one game after the other. It logs the first
// error of a series, per game.
func forEachGame(games []string, log *slog.Logger, operation string, work func(ctx context.Context, game string) error) func(context.Context) {
	var works []func(context.Context)
	for _, game := range games {
		works = append(works, timer.LogFailures(log.With("game", game), operation, func(ctx context.Context) error { return work(ctx, game) }))
	}
	return func(ctx context.Context) {
		for _, work := range works {
			work(ctx)
		}
	}
}

// dayTasks returns the task that starts the days of idle games, and the task that summarizes past
// days, because the summary of a large day takes minutes. In a busy game, the first result of a
// day starts the day.
func dayTasks(games []string, days *ledger.Days, leaderboards *leaderboard.Applier, log *slog.Logger) []backgroundTask {
	startDay := func(ctx context.Context, game string) error {
		started, err := days.StartNewDays(ctx, game)
		if err != nil || !started {
			return err
		}
		log.InfoContext(ctx, "day started", "game", game)
		return leaderboards.Apply(ctx, game)
	}
	summarizeDays := func(ctx context.Context, game string) error {
		count, err := days.SumDays(ctx, game)
		if count > 0 {
			log.InfoContext(ctx, "days summarized", "game", game, "days", count)
		}
		return err
	}
	return []backgroundTask{
		nowAndEvery(maintenanceInterval, forEachGame(games, log, "day change", startDay)),
		nowAndEvery(maintenanceInterval, forEachGame(games, log, "day summary", summarizeDays)),
	}
}

// untilDone returns a function that repeats a step until it finds nothing more to do. It logs the
// first error of a series.
func untilDone(log *slog.Logger, operation string, step func(context.Context) (hasMore bool, err error)) func(context.Context) {
	return timer.LogFailures(log, operation, func(ctx context.Context) error {
		for {
			if hasMore, err := step(ctx); err != nil || !hasMore {
				return err
			}
		}
	})
}

// forgetErased returns a function that deletes what the ledger keeps about erased players for
// ledger.ErasureRetention.
func forgetErased(accounts *ledger.Accounts, log *slog.Logger) func(context.Context) {
	return untilDone(log, "cleanup after erasures", func(ctx context.Context) (bool, error) {
		return accounts.ForgetErased(ctx, ledger.ErasureRetention)
	})
}

// retentionInterval is how often the server looks for answers and matches to delete.
const retentionInterval = time.Hour

// deleteOldMatches returns a function that deletes the answers and matches of each game that
// are older than its retention.
func deleteOldMatches(games []string, matches *ledger.OldMatches, log *slog.Logger) func(context.Context) {
	return forEachGame(games, log, "retention", func(ctx context.Context, game string) error {
		deleted, err := matches.DeleteOld(ctx, game)
		if deleted > 0 {
			log.InfoContext(ctx, "old matches and answers deleted", "game", game, "deleted", deleted)
		}
		return err
	})
}

const (
	// auditCleanupInterval is how often the server deletes old audit entries.
	auditCleanupInterval = time.Hour
	// auditCleanupBatch is the maximum number of entries that one statement deletes.
	auditCleanupBatch = 1000
)

// auditEntries deletes old entries of the audit log; *ledger.AuditLog implements it.
type auditEntries interface {
	ForgetAuditEntries(ctx context.Context, minAge time.Duration, limit int) (int64, error)
}

// deleteOldAudit returns a function that deletes all audit entries that are older than
// retention, batch by batch.
func deleteOldAudit(entries auditEntries, retention time.Duration, log *slog.Logger) func(context.Context) {
	return untilDone(log, "audit log cleanup", func(ctx context.Context) (bool, error) {
		deleted, err := entries.ForgetAuditEntries(ctx, retention, auditCleanupBatch)
		return deleted >= auditCleanupBatch, err
	})
}
