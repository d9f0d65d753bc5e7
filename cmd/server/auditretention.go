package main

import (
	"context"
	"log/slog"
	"time"
)

const (
	// auditCleanupInterval is how often the server deletes old audit entries.
	auditRetentionEvery = time.Hour
	// auditCleanupBatch is the maximum number of entries that one statement deletes.
	auditRetentionBatch = 1000
)

// auditCleaner deletes audit entries that are older than retention.
type auditRetention struct {
	ledger interface {
		ForgetAuditEntries(ctx context.Context, older time.Duration, limit int) (int64, error)
	}
	keep time.Duration
	log  *slog.Logger
}

// Run deletes old entries now and then every hour, until ctx ends.
func (a auditRetention) Run(ctx context.Context) error {
	tick := time.NewTicker(auditRetentionEvery)
	defer tick.Stop()
	for {
		if err := a.deleteOld(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("audit log cleanup failed", "error", err, "retry_in", auditRetentionEvery)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// deleteOld deletes all old entries, batch by batch.
func (a auditRetention) deleteOld(ctx context.Context) error {
	for {
		n, err := a.ledger.ForgetAuditEntries(ctx, a.keep, auditRetentionBatch)
		if err != nil || n < auditRetentionBatch {
			return err
		}
	}
}
