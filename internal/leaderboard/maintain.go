package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	applyInterval       = 5 * time.Second  // time between two tries to apply rows that no call of Apply has applied
	dayCheckInterval    = time.Second      // time between two checks for a day that another node has started
	abandonedAfter      = 48 * time.Hour   // time since the last transaction after which a board set counts as abandoned
	minMaintenancePause = time.Millisecond // minimum pause after an eviction or deletion
)

// maintainGame does the work of Run for one game. It returns when ctx has ended and all
// its goroutines have returned.
func (a *Applier) maintainGame(ctx context.Context, game string) {
	cfg := a.games[game]
	var background sync.WaitGroup
	background.Go(func() { a.buildAndSweep(ctx, cfg) })
	background.Go(func() { a.verifyPeriodically(ctx, game) })
	defer background.Wait()
	applyTicker, maintainTicker := time.NewTicker(applyInterval), time.NewTicker(dayCheckInterval)
	defer applyTicker.Stop()
	defer maintainTicker.Stop()
	a.logError(ctx, game, "apply", a.Apply(ctx, game))
	for {
		a.logError(ctx, game, "maintain", a.maintainDays(ctx, cfg))
		select {
		case <-ctx.Done():
			return
		case <-a.dayEndSignals[game]:
		case <-maintainTicker.C:
		case <-applyTicker.C:
			a.logError(ctx, game, "apply", a.Apply(ctx, game))
		}
	}
}

// buildAndSweep builds requested board sets and removes replaced ones, until ctx ends.
func (a *Applier) buildAndSweep(ctx context.Context, cfg Config) {
	ticker := time.NewTicker(applyInterval)
	defer ticker.Stop()
	for {
		a.logError(ctx, cfg.Game, "build", a.build(ctx, cfg))
		a.logError(ctx, cfg.Game, "sweep", a.sweepBoardSets(ctx, cfg))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-a.buildSignals[cfg.Game]:
		}
	}
}

// wakeBuilder makes buildAndSweep check for a build immediately.
func (a *Applier) wakeBuilder(game string) { signal(a.buildSignals[game]) }

// signal stores one signal in a channel with capacity 1. It does nothing if one is stored
// already. It does not block.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (a *Applier) logError(ctx context.Context, game, task string, err error) {
	if err != nil && ctx.Err() == nil {
		a.log.ErrorContext(ctx, "leaderboard maintenance failed", "task", task, "game", game, "error", err)
	}
}

func (a *Applier) sweepBoardSets(ctx context.Context, cfg Config) error {
	return a.store.Sweep(ctx, cfg.Game, cfg.Hash(), a.now()-abandonedAfter.Milliseconds())
}

// maintainDays evicts and deletes days of the served boards until none is left to evict or
// delete. It releases the apply lease after each transaction, so that rows can be applied
// in between. It then pauses for as long as the transaction took, to leave time for other
// users of Redis. It stops if another node does the same work.
func (a *Applier) maintainDays(ctx context.Context, newestConfig Config) error {
	cfg, err := a.servedConfig(ctx, newestConfig)
	if err != nil {
		return err
	}
	var rollingAfter map[Window]RollingBoards // state after the last transaction; nil: none yet
	for ctx.Err() == nil {
		var duration time.Duration
		err := a.withApplyLease(ctx, cfg, func() error {
			began := time.Now()
			rolling, err := a.maintainDaysOnce(ctx, cfg, rollingAfter)
			rollingAfter, duration = rolling, time.Since(began)
			return err
		}, nil)
		if errors.Is(err, errNoBoards) {
			return nil // requestRepair has logged the error and requested a build
		}
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
		if err == nil && rollingAfter == nil {
			return nil
		}
		sleep(ctx, max(duration, minMaintenancePause))
	}
	return nil
}

// maintainDaysOnce evicts one slice of a day or deletes one day's boards. It returns the
// windows' state after that. nil means that nothing is left to do, or that another node
// has evicted entries since the state rollingBefore, which may be nil.
func (a *Applier) maintainDaysOnce(ctx context.Context, cfg Config, rollingBefore map[Window]RollingBoards) (map[Window]RollingBoards, error) {
	state, err := a.store.ServedState(ctx, cfg.Game, cfg.Hash())
	if err != nil || state.Version == "" || state.Watermark.Day == "" { // Apply handles board sets that are missing, corrupt or empty
		return nil, err
	}
	if rollingBefore != nil && hasEvictionBetween(rollingBefore, state.Rolling) {
		return nil, nil
	}
	for window, boards := range state.Rolling {
		if boards.isTooFarBehind(state.Watermark.Day, window.Days()) {
			return nil, a.requestRepair(ctx, cfg, state, fmt.Errorf("%w: game %s: %s", errWindowBehind, cfg.Game, window))
		}
	}
	if rollingBefore, err = a.evictNextSlice(ctx, cfg, state); err != nil || rollingBefore != nil {
		return rollingBefore, err
	}
	isDeleted, err := a.deleteOldestDay(ctx, cfg, state)
	if err != nil || !isDeleted {
		return nil, err
	}
	return state.Rolling, nil
}

// requestRepair requests a build that replaces a corrupt board set, and returns
// errNoBoards. Readers see the corrupt boards until the build is published. It returns
// ErrStale if the board set has changed since corruptState was read, because then cause
// may be outdated.
func (a *Applier) requestRepair(ctx context.Context, cfg Config, corruptState BoardSetState, cause error) error {
	current, err := a.store.ServedState(ctx, cfg.Game, cfg.Hash())
	if err != nil {
		return err
	}
	if current.ID != corruptState.ID || current.Version != corruptState.Version {
		return ErrStale
	}
	building, err := a.store.BuildingState(ctx, cfg.Game, cfg.Hash())
	if err != nil {
		return err
	}
	if building.ID == "" && cfg.Hash() == a.games[cfg.Game].Hash() { // boards of the newest configuration, which replace a fallback, are being built already
		a.log.WarnContext(ctx, "leaderboard rebuild started", "game", cfg.Game, "error", cause)
		if err := a.requestBuild(ctx, cfg, corruptState.ID, reasonCorrupt); err != nil {
			return err
		}
	}
	a.wakeBuilder(cfg.Game)
	return fmt.Errorf("%w: %w", errNoBoards, cause)
}
