package leaderboard

import (
	"context"
	crand "crypto/rand"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/semaphore"

	"laststand/internal/timer"
)

const (
	applyLeaseTTL     = 5 * time.Second      // how long the apply lease of a dead node blocks other nodes
	leasePollInterval = 4 * time.Millisecond // mean time between two tries to acquire the apply lease
	buildLeaseTTL     = 30 * time.Second
	buildPollInterval = 20 * time.Millisecond
	maintainLeaseTTL  = 5 * time.Second // renewed before every transaction of maintenance
	verifyLeaseTTL    = time.Minute     // renewed before every page
)

// resources are what all the work on one game's boards needs.
type resources struct {
	newestConfig Config // configuration of this node; boards of another one may still be served
	ledger       Ledger
	store        Store
	now          func() int64
	log          *slog.Logger
	metrics      *metrics
	holderID     string // random id of this node as a holder of the game's leases

	applyLease, buildLease, maintainLease, verifyLease *lease
}

// lease is the right to do one kind of work on a game's boards, which one node at a time
// has.
type lease struct {
	id                LeaseID
	ttl, pollInterval time.Duration
	local             *semaphore.Weighted // for goroutines of this node, because they have the same holderID
}

func newResources(cfg Config, options ApplierOptions) *resources {
	newLease := func(work string, ttl, pollInterval time.Duration) *lease {
		return &lease{LeaseID{cfg.Game, work}, ttl, pollInterval, semaphore.NewWeighted(1)}
	}
	return &resources{
		newestConfig: cfg.withHash(), ledger: options.Ledger, store: options.Store, now: options.Now,
		log: options.Log.With("game", cfg.Game), metrics: newMetrics(options.Registry, cfg.Game),
		holderID: crand.Text(), applyLease: newLease("apply", applyLeaseTTL, leasePollInterval),
		buildLease: newLease("build", buildLeaseTTL, buildPollInterval), maintainLease: newLease("maintain", maintainLeaseTTL, 0),
		verifyLease: newLease("verify", verifyLeaseTTL, 0),
	}
}

// newestState returns the state of the served boards of the newest configuration.
func (r *resources) newestState(ctx context.Context) (BoardSetState, error) {
	return r.store.ServedState(ctx, r.newestConfig.Game, r.newestConfig.Hash())
}

// servedBoards returns the state of the boards that readers see, and their configuration:
// the newest one, or the fallback while no boards of the newest one are served.
func (r *resources) servedBoards(ctx context.Context) (Config, BoardSetState, error) {
	state, err := r.newestState(ctx)
	if err != nil || state.ID != "" {
		return r.newestConfig, state, err
	}
	fallback, found, err := fallbackConfig(ctx, r.store, r.newestConfig)
	if err != nil || !found {
		return r.newestConfig, state, err
	}
	fallback = fallback.withHash()
	state, err = r.store.ServedState(ctx, fallback.Game, fallback.Hash())
	return fallback, state, err
}

// withLease calls work while it holds a lease. For the apply lease this means that no other
// goroutine or node changes the served boards, or replaces them.
func (r *resources) withLease(ctx context.Context, lease *lease, work func() error) error {
	if err := lease.local.Acquire(ctx, 1); err != nil {
		return err
	}
	defer lease.local.Release(1)
	for err := r.renewLease(ctx, lease); err != nil; err = r.renewLease(ctx, lease) {
		if !errors.Is(err, ErrStale) {
			return err
		}
		r.metrics.leaseWaits.Inc()
		if !timer.Sleep(ctx, lease.pollInterval/2+rand.N(lease.pollInterval)) { //nolint:gosec // a wait is no secret
			return ctx.Err()
		}
	}
	defer func() { _ = r.releaseLease(ctx, lease) }() // if the release fails, the lease expires
	return work()
}

// renewLease acquires a lease or extends it. It returns ErrStale if another node holds it.
func (r *resources) renewLease(ctx context.Context, lease *lease) error {
	hasLease, err := r.store.SetLease(ctx, lease.id, r.holderID, lease.ttl)
	if err == nil && !hasLease {
		err = ErrStale
	}
	return err
}

// releaseLease releases a lease if this node holds it, even if ctx has ended.
func (r *resources) releaseLease(ctx context.Context, lease *lease) error {
	_, err := r.store.SetLease(context.WithoutCancel(ctx), lease.id, r.holderID, 0)
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
