package leaderboard

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	leaseTTL  = 5 * time.Second // of a node that died
	leasePoll = 4 * time.Millisecond
)

// alone does work on a form of a game's boards while nobody else does, here or
// on another node. While it waits, spared, unless nil, may find the work done.
func (a *Applier) alone(ctx context.Context, cfg Config, work func() error, spared func() (bool, error)) error {
	if err := a.work[cfg.Game].enter(ctx); err != nil {
		return err
	}
	defer a.work[cfg.Game].leave()
	ours, err := a.lease(ctx, cfg, spared)
	if err != nil || !ours {
		return err
	}
	// Given back also by who is being stopped; else it ends by itself.
	defer func() { _ = a.store.Release(context.WithoutCancel(ctx), applyDuty(cfg), a.id) }()
	return work()
}

// lease waits for the duty to apply. It reports false where the work is spared.
func (a *Applier) lease(ctx context.Context, cfg Config, spared func() (bool, error)) (ours bool, err error) {
	for {
		ours, err = a.store.Lease(ctx, applyDuty(cfg), a.id, leaseTTL)
		if err != nil || ours {
			return ours, err
		}
		a.metrics.waits.WithLabelValues(cfg.Game).Inc()
		if spared != nil {
			if done, err := spared(); err != nil || done {
				return false, err
			}
		}
		rest(ctx, leasePoll/2+rand.N(leasePoll)) //nolint:gosec // a wait is no secret
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
}

// applied returns a look at whether the boards that readers see hold the rows
// that the ledger held when it was looked first. Until the boards have moved
// that far a look costs the ledger nothing.
func (a *Applier) applied(ctx context.Context, cfg Config) func() (bool, error) {
	need := int64(-1) // the last of those rows, once it is known
	return func() (bool, error) {
		state, err := a.store.Served(ctx, cfg.Game, cfg.Form())
		if err != nil || state.Stamp == "" || state.Mark.Epoch != a.ledger.Epoch() || state.Mark.Pos < need {
			return false, err
		}
		rows, holds, err := a.above(ctx, cfg.Game, state.Mark)
		if err != nil || !holds {
			return false, err
		}
		if need < 0 && len(rows) < pageRows {
			need = state.Mark.Pos + int64(len(rows))
		}
		return need >= 0 && state.Mark.Pos >= need, nil
	}
}

// renew keeps a duty for what comes next. Who has lost it stops: ErrStale.
func (a *Applier) renew(ctx context.Context, d Duty, ttl time.Duration) error {
	ours, err := a.store.Lease(ctx, d, a.id, ttl)
	if err == nil && !ours {
		err = ErrStale
	}
	return err
}

func applyDuty(cfg Config) Duty { return Duty{Game: cfg.Game, Form: cfg.Form(), Name: "apply"} }

// rest waits, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
