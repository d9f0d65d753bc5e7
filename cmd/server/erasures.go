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
const erasuresEvery = 5 * time.Second

// erasureWorker runs the steps of erasures. The settled results of an erased player get an
// opaque id, first in the ledger and then on the leaderboards. Every node runs steps; a node
// continues an erasure that another node started.
type erasures struct {
	ledger *ledger.Ledger
	boards *leaderboard.Applier
	kept   time.Duration // how long after the end of an erasure the ledger keeps its last data
	log    *slog.Logger
}

// Run runs the pending steps every erasureInterval, until ctx ends.
func (e erasures) Run(ctx context.Context) error {
	tick := time.NewTicker(erasuresEvery)
	defer tick.Stop()
	for {
		if err := e.runSteps(ctx); err != nil && !errors.Is(err, context.Canceled) {
			e.log.WarnContext(ctx, "erasure step failed", "error", err, "retry_in", erasuresEvery)
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
func (e erasures) runSteps(ctx context.Context) error {
	for {
		began := time.Now()
		more, err := e.step(ctx)
		if err != nil || !more {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(began)):
		}
	}
}

// runStep runs one step, if one is pending. more reports whether to call it again.
func (e erasures) step(ctx context.Context) (more bool, err error) {
	pending, err := e.ledger.Erasing(ctx)
	if err != nil || !pending {
		return false, err
	}
	game, moved, err := e.ledger.EraseNext(ctx)
	if err != nil {
		return false, err
	}
	if game == "" {
		return e.ledger.ForgetErased(ctx, e.kept)
	}
	if moved {
		return true, e.boards.Apply(ctx, game)
	}
	return true, nil
}
