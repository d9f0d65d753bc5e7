package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

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

// maintenance is the background work of a node on the ledger.
type maintenance struct{ *node }

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
func (m maintenance) forEachGame(operation string, work func(ctx context.Context, game string) error) func(context.Context) {
	var works []func(context.Context)
	for _, game := range m.config.GameNames() {
		works = append(works, timer.LogFailures(m.log.With("game", game), operation, func(ctx context.Context) error { return work(ctx, game) }))
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
func (m maintenance) dayTasks() []backgroundTask {
	startDay := func(ctx context.Context, game string) error {
		started, err := m.ledger.Days.StartNewDays(ctx, game)
		if err != nil || !started {
			return err
		}
		m.log.InfoContext(ctx, "day started", "game", game)
		return m.leaderboards.Apply(ctx, game)
	}
	summarizeDays := func(ctx context.Context, game string) error {
		count, err := m.ledger.Days.SumDays(ctx, game)
		if count > 0 {
			m.log.InfoContext(ctx, "days summarized", "game", game, "days", count)
		}
		return err
	}
	return []backgroundTask{
		nowAndEvery(maintenanceInterval, m.forEachGame("day change", startDay)),
		nowAndEvery(maintenanceInterval, m.forEachGame("day summary", summarizeDays)),
	}
}

const (
	// cleanupInterval is how often the server looks for old audit entries, answers and matches.
	cleanupInterval = time.Hour
	// auditCleanupBatch is the maximum number of audit entries that one transaction deletes.
	auditCleanupBatch = 1000
)

// cleanupTasks returns the tasks that delete old data. They delete entries of the audit log, and
// answers and matches beyond the retention of their game. They also delete what the ledger keeps
// about erased players for ledger.ErasureRetention.
func (m maintenance) cleanupTasks() []backgroundTask {
	deleteAudit := func(ctx context.Context) error {
		_, err := m.ledger.Audit.ForgetAuditEntries(ctx, m.config.Audit.Retention(), auditCleanupBatch)
		return err
	}
	deleteMatches := func(ctx context.Context, game string) error {
		deleted, err := m.ledger.OldMatches.DeleteOld(ctx, game)
		if deleted > 0 {
			m.log.InfoContext(ctx, "old matches and answers deleted", "game", game, "deleted", deleted)
		}
		return err
	}
	forgetErased := func(ctx context.Context) (err error) {
		for hasMore := true; hasMore && err == nil; {
			hasMore, err = m.ledger.Accounts.ForgetErased(ctx, ledger.ErasureRetention)
		}
		return err
	}
	return []backgroundTask{
		nowAndEvery(cleanupInterval, timer.LogFailures(m.log, "audit log cleanup", deleteAudit)),
		nowAndEvery(cleanupInterval, m.forEachGame("retention", deleteMatches)),
		nowAndEvery(maintenanceInterval, timer.LogFailures(m.log, "cleanup after erasures", forgetErased)),
	}
}
