package leaderboard

import (
	"context"
	crand "crypto/rand"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/semaphore"

	"laststand/internal/loop"
)

const (
	applyLeaseTTL     = 5 * time.Second      // how long the apply lease of a dead node blocks other nodes
	leasePollInterval = 4 * time.Millisecond // mean time between two tries to acquire the apply lease
)

// resources are what all the work on one game's boards needs.
type resources struct {
	newestConfig Config // configuration of this node; boards of another one may still be served
	ledger       Ledger
	store        Store
	now          func() int64
	log          *slog.Logger
	metrics      *metrics
	holderID     string              // random id of this node as a holder of the game's leases
	applyLock    *semaphore.Weighted // for goroutines of this node; leases are for other nodes
}

func newResources(cfg Config, options ApplierOptions) *resources {
	return &resources{
		newestConfig: cfg.withHash(), ledger: options.Ledger, store: options.Store, now: options.Now,
		log: options.Log.With("game", cfg.Game), metrics: newMetrics(options.Registry, cfg.Game),
		holderID: crand.Text(), applyLock: semaphore.NewWeighted(1),
	}
}

// newestState returns the state of the served boards of the newest configuration.
func (r *resources) newestState(ctx context.Context) (BoardSetState, error) {
	return r.store.ServedState(ctx, r.newestConfig.Game, r.newestConfig.Hash())
}

// servedConfig returns the configuration of the boards that readers see: the newest one,
// or the fallback while no boards of the newest one are served.
func (r *resources) servedConfig(ctx context.Context) (Config, error) {
	state, err := r.newestState(ctx)
	if err != nil || state.ID != "" {
		return r.newestConfig, err
	}
	fallback, found, err := fallbackConfig(ctx, r.store, r.newestConfig)
	if err != nil || !found {
		return r.newestConfig, err
	}
	return fallback.withHash(), nil
}

// withApplyLease calls work while it holds the apply lease, so that no other goroutine or
// node changes the served boards of cfg.
func (r *resources) withApplyLease(ctx context.Context, cfg Config, work func() error) error {
	if err := r.applyLock.Acquire(ctx, 1); err != nil {
		return err
	}
	defer r.applyLock.Release(1)
	leaseID := applyLeaseID(cfg)
	for {
		hasLease, err := r.store.AcquireLease(ctx, leaseID, r.holderID, applyLeaseTTL)
		if err != nil {
			return err
		}
		if hasLease {
			break
		}
		r.metrics.leaseWaits.Inc()
		if !loop.Sleep(ctx, leasePollInterval/2+rand.N(leasePollInterval)) { //nolint:gosec // a wait is no secret
			return ctx.Err()
		}
	}
	// Release the lease even if ctx has ended. If the release fails, the lease expires.
	defer func() { _ = r.store.ReleaseLease(context.WithoutCancel(ctx), leaseID, r.holderID) }()
	return work()
}

// renewLease extends a lease to ttl from now. It returns ErrStale if the lease has expired
// and another node holds it.
func (r *resources) renewLease(ctx context.Context, leaseID LeaseID, ttl time.Duration) error {
	hasLease, err := r.store.AcquireLease(ctx, leaseID, r.holderID, ttl)
	if err == nil && !hasLease {
		err = ErrStale
	}
	return err
}

// rowsAfter returns the next rows after a watermark, and whether the ledger still has the
// watermark's row. One read answers both, so no rollback can happen in between.
func (r *resources) rowsAfter(ctx context.Context, mark Watermark, limit int) (rows []Row, hasMarkRow bool, err error) {
	if mark.Pos == 0 {
		rows, err = r.ledger.ReadRows(ctx, r.newestConfig.Game, 0, limit)
		return rows, true, err
	}
	rows, err = r.ledger.ReadRows(ctx, r.newestConfig.Game, mark.Pos-1, 1+limit)
	if err != nil || len(rows) == 0 || rows[0].Pos != mark.Pos || rows[0].ID != mark.RowID {
		return nil, false, err
	}
	return rows[1:], true, nil
}

func (r *resources) logError(ctx context.Context, task string, err error) {
	if err != nil && ctx.Err() == nil {
		r.log.ErrorContext(ctx, "leaderboard maintenance failed", "task", task, "error", err)
	}
}

func applyLeaseID(cfg Config) LeaseID {
	return LeaseID{Game: cfg.Game, ConfigHash: cfg.Hash(), Work: "apply"}
}
