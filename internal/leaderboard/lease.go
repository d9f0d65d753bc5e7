package leaderboard

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	leaseTTL  = 5 * time.Second      // how long the apply lease of a dead node blocks other nodes
	leasePoll = 4 * time.Millisecond // mean time between two tries to acquire the apply lease
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
	isOurs, err := a.acquireApplyLease(ctx, cfg, isDone)
	if err != nil || !isOurs {
		return err
	}
	// Release the lease even if ctx has ended. If the release fails, the lease expires.
	defer func() { _ = a.store.ReleaseLease(context.WithoutCancel(ctx), applyDuty(cfg), a.holderID) }()
	return work()
}

// acquireApplyLease waits until this node has the apply lease. It returns false if isDone
// returns true before that.
func (a *Applier) acquireApplyLease(ctx context.Context, cfg Config, isDone func() (bool, error)) (isOurs bool, err error) {
	for {
		isOurs, err = a.store.AcquireLease(ctx, applyDuty(cfg), a.holderID, leaseTTL)
		if err != nil || isOurs {
			return isOurs, err
		}
		a.metrics.waits.WithLabelValues(cfg.Game).Inc()
		if isDone != nil {
			if done, err := isDone(); err != nil || done {
				return false, err
			}
		}
		sleep(ctx, leasePoll/2+rand.N(leasePoll)) //nolint:gosec // a wait is no secret
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
		if err != nil || state.Version == "" || state.Mark.Epoch != a.ledger.Epoch() || state.Mark.Pos < lastPos {
			return false, err
		}
		rows, isHeld, err := a.rowsAfter(ctx, cfg.Game, state.Mark)
		if err != nil || !isHeld {
			return false, err
		}
		if lastPos < 0 && len(rows) < pageRows {
			lastPos = state.Mark.Pos + int64(len(rows))
		}
		return lastPos >= 0 && state.Mark.Pos >= lastPos, nil
	}
}

// renewLease extends a lease to ttl from now. It returns ErrStale if the lease has expired
// and another node holds it.
func (a *Applier) renewLease(ctx context.Context, d Duty, ttl time.Duration) error {
	isOurs, err := a.store.AcquireLease(ctx, d, a.holderID, ttl)
	if err == nil && !isOurs {
		err = ErrStale
	}
	return err
}

func applyDuty(cfg Config) Duty { return Duty{Game: cfg.Game, ConfigHash: cfg.Hash(), Name: "apply"} }

// sleep waits for duration, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
