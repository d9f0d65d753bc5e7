package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
)

// erasuresEvery is how late the steps of an erasure may begin.
const erasuresEvery = 5 * time.Second

// erasing takes the steps of erasures: what an erased player of an operator's has
// settled gets an opaque id, in the ledger and then on the boards. Any node takes
// them, and goes on with what another has begun.
type erasing struct {
	ledger *ledger.Ledger
	boards *leaderboard.Applier
	kept   time.Duration
	log    *slog.Logger
}

// Run takes steps until ctx ends.
func (e erasing) Run(ctx context.Context) error {
	tick := time.NewTicker(erasuresEvery)
	defer tick.Stop()
	for {
		if err := e.all(ctx); err != nil && !errors.Is(err, context.Canceled) {
			e.log.WarnContext(ctx, "an erasure has to wait; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// all takes the steps that there are. After each it rests for as long as that took,
// so that settlement has the database half of the time.
func (e erasing) all(ctx context.Context) error {
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

func (e erasing) step(ctx context.Context) (more bool, err error) {
	underWay, err := e.ledger.Erasing(ctx)
	if err != nil || !underWay {
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
