package main

import (
	"context"
	"log/slog"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/loop"
)

// maintenanceInterval is how often the server looks for new days, for past days to summarize
// and for pending erasures. A new day of an idle game starts at most this late.
const maintenanceInterval = 5 * time.Second

// nowAndEvery returns a task that does work now and once per interval.
func nowAndEvery(interval time.Duration, work func(context.Context)) backgroundTask {
	return func(ctx context.Context) error {
		work(ctx)
		loop.Every(ctx, interval, work)
		return nil
	}
}

// forEachGame returns a function that does work for one game after the other. It logs the first
// error of a series, per game.
func forEachGame(games []string, log *slog.Logger, operation string, work func(ctx context.Context, game string) error) func(context.Context) {
	var works []func(context.Context)
	for _, game := range games {
		works = append(works, loop.LogFailures(log.With("game", game), operation, func(ctx context.Context) error { return work(ctx, game) }))
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

// erasureWorker runs the steps of erasures. The settled results of an erased player get an
// opaque id, first in the ledger and then on the leaderboards. Every node runs steps; a node
// continues an erasure that another node started.
type erasureWorker struct {
	ledger       *ledger.Erasures
	leaderboards *leaderboard.Applier
	retention    time.Duration // how long after the end of an erasure the ledger keeps its last data
}

// runPendingSteps runs all pending steps. After each step it waits for as long as the step took,
// so that settlement can use the database half of the time.
func (e erasureWorker) runPendingSteps(ctx context.Context) error {
	for {
		startedAt := time.Now()
		hasMore, err := e.runStep(ctx)
		if err != nil || !hasMore {
			return err
		}
		if !loop.Sleep(ctx, time.Since(startedAt)) {
			return ctx.Err()
		}
	}
}

// runStep runs one step, if one is pending. hasMore reports whether to call it again.
func (e erasureWorker) runStep(ctx context.Context) (hasMore bool, err error) {
	pending, err := e.ledger.HasErasures(ctx)
	if err != nil || !pending {
		return false, err
	}
	game, moved, err := e.ledger.EraseNext(ctx)
	if err != nil {
		return false, err
	}
	if game == "" {
		return e.ledger.ForgetErased(ctx, e.retention)
	}
	if moved {
		return true, e.leaderboards.Apply(ctx, game)
	}
	return true, nil
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
	return loop.LogFailures(log, "audit log cleanup", func(ctx context.Context) error {
		for {
			deleted, err := entries.ForgetAuditEntries(ctx, retention, auditCleanupBatch)
			if err != nil || deleted < auditCleanupBatch {
				return err
			}
		}
	})
}
