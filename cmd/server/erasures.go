package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
)

// erasuresEvery is how often the server looks for erasures.
const erasuresEvery = 5 * time.Second

// erasures runs the steps of erasures: the settled results of an erased player get an
// opaque id, in the ledger and then on the leaderboards. Every node runs steps, and
// continues what another has begun.
type erasures struct {
	ledger *ledger.Ledger
	boards *leaderboard.Applier
	kept   time.Duration
	log    *slog.Logger
}

// Run runs steps until ctx ends.
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

// runSteps runs all pending steps. After each step it rests for as long as the step took, so
// that settlement has the database half of the time.
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
