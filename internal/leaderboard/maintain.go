package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	applyInterval    = 5 * time.Second  // time between two tries to apply rows that no call of Apply has applied
	maintainInterval = time.Second      // time between two checks for a day that another node has started
	staleAfter       = 48 * time.Hour   // time since the last transaction after which a board set counts as abandoned
	minPause         = time.Millisecond // minimum pause after an eviction or deletion
)

// maintainGame does the work of Run for one game. It returns when ctx has ended and all
// its goroutines have returned.
func (a *Applier) maintainGame(ctx context.Context, game string) {
	cfg := a.games[game]
	var others sync.WaitGroup
	others.Go(func() { a.maintainBuilds(ctx, cfg) })
	others.Go(func() { a.checkPeriodically(ctx, game) })
	defer others.Wait()
	applyTicker, maintainTicker := time.NewTicker(applyInterval), time.NewTicker(maintainInterval)
	defer applyTicker.Stop()
	defer maintainTicker.Stop()
	a.logError(ctx, game, "apply", a.Apply(ctx, game))
	for {
		a.logError(ctx, game, "maintain", a.maintain(ctx, cfg))
		select {
		case <-ctx.Done():
			return
		case <-a.dayEnded[game]:
		case <-maintainTicker.C:
		case <-applyTicker.C:
			a.logError(ctx, game, "apply", a.Apply(ctx, game))
		}
	}
}

// buildAndSweep builds requested board sets and removes replaced ones, until ctx ends.
func (a *Applier) maintainBuilds(ctx context.Context, cfg Config) {
	ticker := time.NewTicker(applyInterval)
	defer ticker.Stop()
	for {
		a.logError(ctx, cfg.Game, "build", a.build(ctx, cfg))
		a.logError(ctx, cfg.Game, "sweep", a.sweep(ctx, cfg))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-a.buildRequests[cfg.Game]:
		}
	}
}

// wakeBuilder makes buildAndSweep check for a build immediately.
func (a *Applier) wakeBuilder(game string) { signal(a.buildRequests[game]) }

// signal stores one signal in a channel with capacity 1. It does nothing if one is stored
// already. It does not block.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (a *Applier) logError(ctx context.Context, game, step string, err error) {
	if err != nil && ctx.Err() == nil {
		a.log.ErrorContext(ctx, "leaderboard maintenance failed", "task", step, "game", game, "error", err)
	}
}

func (a *Applier) sweep(ctx context.Context, cfg Config) error {
	return a.store.Sweep(ctx, cfg.Game, cfg.Hash(), a.now()-staleAfter.Milliseconds())
}

// maintainDays evicts and deletes days of the served boards until none is left to evict or
// delete. It releases the apply lease after each transaction, so that rows can be applied
// in between. It then pauses for as long as the transaction took, to leave time for other
// users of Redis. It stops if another node does the same work.
func (a *Applier) maintain(ctx context.Context, newest Config) error {
	cfg, err := a.servedConfig(ctx, newest)
	if err != nil {
		return err
	}
	var rolling map[Window]RollingBoards // state after the last transaction; nil: none yet
	for ctx.Err() == nil {
		var duration time.Duration
		err := a.withApplyLease(ctx, cfg, func() error {
			began := time.Now()
			after, err := a.maintainOnce(ctx, cfg, rolling)
			rolling, duration = after, time.Since(began)
			return err
		}, nil)
		if errors.Is(err, errNoBoards) {
			return nil // requestRepair has logged the error and requested a build
		}
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
		if err == nil && rolling == nil {
			return nil
		}
		sleep(ctx, max(duration, minPause))
	}
	return nil
}

// maintainDaysOnce evicts one slice of a day or deletes one day's boards. It returns the
// windows' state after that. nil means that nothing is left to do, or that another node
// has evicted entries since the state rollingBefore, which may be nil.
func (a *Applier) maintainOnce(ctx context.Context, cfg Config, previous map[Window]RollingBoards) (map[Window]RollingBoards, error) {
	state, err := a.store.ServedState(ctx, cfg.Game, cfg.Hash())
	if err != nil || state.Version == "" || state.Mark.Day == "" { // Apply handles board sets that are missing, corrupt or empty
		return nil, err
	}
	if previous != nil && haveEvicted(previous, state.Rolling) {
		return nil, nil
	}
	for w, boards := range state.Rolling {
		if boards.isTooFarBehind(state.Mark.Day, w.Days()) {
			return nil, a.markCorrupt(ctx, cfg, state, fmt.Errorf("%w: game %s: %s", errBehind, cfg.Game, w))
		}
	}
	if previous, err = a.evictNext(ctx, cfg, state); err != nil || previous != nil {
		return previous, err
	}
	retired, err := a.dropOldestDay(ctx, cfg, state)
	if err != nil || !retired {
		return nil, err
	}
	return state.Rolling, nil
}

// requestRepair requests a build that replaces a corrupt board set, and returns
// errNoBoards. Readers see the corrupt boards until the build is published. It returns
// ErrStale if the board set has changed since corruptState was read, because then cause
// may be outdated.
func (a *Applier) markCorrupt(ctx context.Context, cfg Config, found State, cause error) error {
	current, err := a.store.ServedState(ctx, cfg.Game, cfg.Hash())
	if err != nil {
		return err
	}
	if current.ID != found.ID || current.Version != found.Version {
		return ErrStale
	}
	building, err := a.store.BuildingState(ctx, cfg.Game, cfg.Hash())
	if err != nil {
		return err
	}
	if building.ID == "" && cfg.Hash() == a.games[cfg.Game].Hash() { // boards of the newest configuration, which replace a fallback, are being built already
		a.log.WarnContext(ctx, "leaderboard rebuild started", "game", cfg.Game, "error", cause)
		if err := a.requestBuild(ctx, cfg, found.ID, rollBroken); err != nil {
			return err
		}
	}
	a.wakeBuilder(cfg.Game)
	return fmt.Errorf("%w: %w", errNoBoards, cause)
}
