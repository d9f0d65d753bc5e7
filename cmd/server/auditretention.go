package main

import (
	"context"
	"log/slog"
	"time"
)

const (
	// auditCleanupInterval is how often the server deletes old audit entries.
	auditCleanupInterval = time.Hour
	// auditCleanupBatch is the maximum number of entries that one statement deletes.
	auditCleanupBatch = 1000
)

// auditCleaner deletes audit entries that are older than retention.
type auditCleaner struct {
	ledger interface {
		ForgetAuditEntries(ctx context.Context, older time.Duration, limit int) (int64, error)
	}
	retention time.Duration
	log       *slog.Logger
}

// Run deletes old entries now and then every hour, until ctx ends.
func (a auditCleaner) Run(ctx context.Context) error {
	tick := time.NewTicker(auditCleanupInterval)
	defer tick.Stop()
	for {
		if err := a.deleteOld(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("audit log cleanup failed", "error", err, "retry_in", auditCleanupInterval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// deleteOld deletes all old entries, batch by batch.
func (a auditCleaner) deleteOld(ctx context.Context) error {
	for {
		deleted, err := a.ledger.ForgetAuditEntries(ctx, a.retention, auditCleanupBatch)
		if err != nil || deleted < auditCleanupBatch {
			return err
		}
	}
}
