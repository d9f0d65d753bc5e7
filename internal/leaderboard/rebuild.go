package leaderboard

import (
	"context"
	"fmt"
)

// Rebuild has the game's boards built anew beside the ones that are read, which
// go on meanwhile. It returns once that is asked for, which outlives the node;
// Building says when it is done. Where boards are being built already, those are it.
func (a *Applier) Rebuild(ctx context.Context, game string) error {
	cfg, known := a.games[game]
	if !known {
		return fmt.Errorf("rebuild the leaderboards of %q: no such game", game)
	}
	served, err := a.store.Served(ctx, game, cfg.Form())
	if err == nil {
		err = a.ask(ctx, cfg, served.ID, askedFor)
	}
	if err != nil {
		return fmt.Errorf("rebuild the leaderboards of %q: %w", game, err)
	}
	return nil
}

// ask begins a copy to be built instead of the served one, by whichever node
// takes it up first, unless there is one already.
func (a *Applier) ask(ctx context.Context, cfg Config, served, reason string) error {
	building, err := a.store.Building(ctx, cfg.Game, cfg.Form())
	if err != nil || building.ID != "" {
		return err
	}
	if _, err := a.begin(ctx, cfg, served, reason); err != nil {
		return err
	}
	a.wake(cfg.Game)
	return nil
}

// Building reports whether boards of the game are being built, or to be.
func (a *Applier) Building(ctx context.Context, game string) (bool, error) {
	cfg, known := a.games[game]
	if !known {
		return false, fmt.Errorf("leaderboards of %q: no such game", game)
	}
	building, err := a.store.Building(ctx, game, cfg.Form())
	return building.ID != "", err
}
