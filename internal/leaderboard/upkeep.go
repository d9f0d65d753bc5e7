package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	applyEvery = 5 * time.Second  // the safety net under Apply
	tendEvery  = time.Second      // and under turns that another node applied
	staleAfter = 48 * time.Hour   // a copy that not even a day's turn was written to
	leastRest  = time.Millisecond // after a piece of upkeep
)

// keep is Run for one game.
func (a *Applier) keep(ctx context.Context, game string) {
	cfg := a.games[game]
	var beside sync.WaitGroup
	beside.Go(func() { a.keepBuilding(ctx, cfg) })
	beside.Go(func() { a.watch(ctx, game) })
	defer beside.Wait()
	apply, tend := time.NewTicker(applyEvery), time.NewTicker(tendEvery)
	defer apply.Stop()
	defer tend.Stop()
	a.report(ctx, game, "apply", a.Apply(ctx, game))
	for {
		a.report(ctx, game, "upkeep", a.tend(ctx, cfg))
		select {
		case <-ctx.Done():
			return
		case <-a.turned[game]:
		case <-tend.C:
		case <-apply.C:
			a.report(ctx, game, "apply", a.Apply(ctx, game))
		}
	}
}

// keepBuilding builds what somebody has asked for, and removes what that leaves,
// beside all else.
func (a *Applier) keepBuilding(ctx context.Context, cfg Config) {
	look := time.NewTicker(applyEvery)
	defer look.Stop()
	for {
		a.report(ctx, cfg.Game, "build", a.build(ctx, cfg))
		a.report(ctx, cfg.Game, "sweep", a.sweep(ctx, cfg))
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		case <-a.wakes[cfg.Game]:
		}
	}
}

// wake has keepBuilding look at once.
func (a *Applier) wake(game string) { signal(a.wakes[game]) }

// signal leaves word for whoever looks next, once.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (a *Applier) report(ctx context.Context, game, step string, err error) {
	if err != nil && ctx.Err() == nil {
		a.log.ErrorContext(ctx, "leaderboard maintenance failed", "step", step, "game", game, "error", err)
	}
}

func (a *Applier) sweep(ctx context.Context, cfg Config) error {
	return a.store.Sweep(ctx, cfg.Game, cfg.Form(), a.now()-staleAfter.Milliseconds())
}

// tend works on the boards that readers see until there is nothing to do: days
// leave windows, and Redis. Rows come first, and Redis has as long a rest after
// each piece as that took; so where another node is at it too, this one stops.
func (a *Applier) tend(ctx context.Context, own Config) error {
	cfg, err := a.seen(ctx, own)
	if err != nil {
		return err
	}
	var left map[Window]Roll // as the last piece left them
	for ctx.Err() == nil {
		var took time.Duration
		err := a.alone(ctx, cfg, func() error {
			began := time.Now()
			rolls, err := a.piece(ctx, cfg, left)
			left, took = rolls, time.Since(began)
			return err
		}, nil)
		if errors.Is(err, errLost) {
			return nil // which was said, and a build asked for
		}
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
		if err == nil && left == nil {
			return nil
		}
		rest(ctx, max(took, leastRest))
	}
	return nil
}

// piece is one step of upkeep. It returns the rolls that it left; nil: there is
// nothing to do, or somebody else has gone on from those that the last one left.
func (a *Applier) piece(ctx context.Context, cfg Config, left map[Window]Roll) (map[Window]Roll, error) {
	state, err := a.store.Served(ctx, cfg.Game, cfg.Form())
	if err != nil || state.Stamp == "" || state.Mark.Day == "" { // Apply sees to copies that are not whole
		return nil, err
	}
	if left != nil && moved(left, state.Rolls) {
		return nil, nil
	}
	for w, r := range state.Rolls {
		if r.behind(state.Mark.Day, w.Days()) {
			return nil, a.condemn(ctx, cfg, state, fmt.Errorf("%w: game %s: %s", errBehind, cfg.Game, w))
		}
	}
	if left, err = a.takeOut(ctx, cfg, state); err != nil || left != nil {
		return left, err
	}
	retired, err := a.retire(ctx, cfg, state)
	if err != nil || !retired {
		return nil, err
	}
	return state.Rolls, nil
}

// condemn asks for a build instead of a copy that was found torn, which is read
// meanwhile, and returns errLost; or ErrStale where the copy has moved since it
// was found so, so that what was read of it says nothing.
func (a *Applier) condemn(ctx context.Context, cfg Config, found State, why error) error {
	now, err := a.store.Served(ctx, cfg.Game, cfg.Form())
	if err != nil {
		return err
	}
	if now.ID != found.ID || now.Stamp != found.Stamp {
		return ErrStale
	}
	building, err := a.store.Building(ctx, cfg.Game, cfg.Form())
	if err != nil {
		return err
	}
	if building.ID == "" && cfg.Form() == a.games[cfg.Game].Form() { // one that stands in has its successor built already
		a.log.WarnContext(ctx, "leaderboard rebuild started", "game", cfg.Game, "error", why)
		if err := a.ask(ctx, cfg, found.ID, rollBroken); err != nil {
			return err
		}
	}
	a.wake(cfg.Game)
	return fmt.Errorf("%w: %w", errLost, why)
}
