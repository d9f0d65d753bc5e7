package leaderboard

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	applyLeaseTTL     = 5 * time.Second      // how long the apply lease of a dead node blocks other nodes
	leasePollInterval = 4 * time.Millisecond // mean time between two tries to acquire the apply lease
)

// withApplyLease calls work while it holds the apply lease, so that no other goroutine or
// node changes the served boards of cfg. While it waits for the lease, it calls isDone,
// unless that is nil. If isDone returns true, withApplyLease returns nil without calling
// work.
func (a *Applier) withApplyLease(ctx context.Context, cfg Config, work func() error, isDone func() (bool, error)) error {
	if err := a.applyLocks[cfg.Game].lock(ctx); err != nil {
		return err
	}
	defer a.applyLocks[cfg.Game].unlock()
	hasLease, err := a.acquireApplyLease(ctx, cfg, isDone)
	if err != nil || !hasLease {
		return err
	}
	// Release the lease even if ctx has ended. If the release fails, the lease expires.
	defer func() { _ = a.store.ReleaseLease(context.WithoutCancel(ctx), applyLeaseID(cfg), a.holderID) }()
	return work()
}

// acquireApplyLease waits until this node has the apply lease. It returns false if isDone
// returns true before that.
func (a *Applier) acquireApplyLease(ctx context.Context, cfg Config, isDone func() (bool, error)) (hasLease bool, err error) {
	for {
		hasLease, err = a.store.AcquireLease(ctx, applyLeaseID(cfg), a.holderID, applyLeaseTTL)
		if err != nil || hasLease {
			return hasLease, err
		}
		a.metrics.leaseWaits.WithLabelValues(cfg.Game).Inc()
		if isDone != nil {
			if isWorkDone, err := isDone(); err != nil || isWorkDone {
				return false, err
			}
		}
		sleep(ctx, leasePollInterval/2+rand.N(leasePollInterval)) //nolint:gosec // a wait is no secret
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
}

// newAppliedCheck returns a function that reports whether the served boards hold all rows
// that the ledger held at the function's first call. Once the position of the last of
// these rows is known, a call reads the ledger only if the boards have reached it.
func (a *Applier) newAppliedCheck(ctx context.Context, cfg Config) func() (bool, error) {
	lastPos := int64(-1) // position of the last of these rows; -1: not known yet
	return func() (bool, error) {
		state, err := a.store.ServedState(ctx, cfg.Game, cfg.Hash())
		if err != nil || state.Version == "" || state.Watermark.Epoch != a.ledger.Epoch() || state.Watermark.Pos < lastPos {
			return false, err
		}
		rows, hasMarkRow, err := a.rowsAfter(ctx, cfg.Game, state.Watermark)
		if err != nil || !hasMarkRow {
			return false, err
		}
		if lastPos < 0 && len(rows) < rowsPerRead {
			lastPos = state.Watermark.Pos + int64(len(rows))
		}
		return lastPos >= 0 && state.Watermark.Pos >= lastPos, nil
	}
}

// renewLease extends a lease to ttl from now. It returns ErrStale if the lease has expired
// and another node holds it.
func (a *Applier) renewLease(ctx context.Context, leaseID LeaseID, ttl time.Duration) error {
	hasLease, err := a.store.AcquireLease(ctx, leaseID, a.holderID, ttl)
	if err == nil && !hasLease {
		err = ErrStale
	}
	return err
}

func applyLeaseID(cfg Config) LeaseID {
	return LeaseID{Game: cfg.Game, ConfigHash: cfg.Hash(), Work: "apply"}
}

// sleep waits for duration, or until ctx ends.
func sleep(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
