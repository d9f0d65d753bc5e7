package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
)

// erasureInterval is how often the server checks for pending erasures.
const erasureInterval = 5 * time.Second

// erasureWorker runs the steps of erasures. The settled results of an erased player get an
// opaque id, first in the ledger and then on the leaderboards. Every node runs steps; a node
// continues an erasure that another node started.
type erasureWorker struct {
	ledger       *ledger.Erasures
	leaderboards *leaderboard.Applier
	retention    time.Duration // how long after the end of an erasure the ledger keeps its last data
	log          *slog.Logger
}

// Run runs the pending steps every erasureInterval, until ctx ends.
func (e erasureWorker) Run(ctx context.Context) error {
	tick := time.NewTicker(erasureInterval)
	defer tick.Stop()
	for {
		if err := e.runPendingSteps(ctx); err != nil && !errors.Is(err, context.Canceled) {
			e.log.WarnContext(ctx, "erasure step failed", "error", err, "retry_in", erasureInterval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
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
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(startedAt)):
		}
	}
}

// runStep runs one step, if one is pending. more reports whether to call it again.
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
