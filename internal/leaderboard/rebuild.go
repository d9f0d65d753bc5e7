package leaderboard

import (
	"context"
	"fmt"
)

// Rebuild requests new boards of the game, and returns without waiting for them. Readers
// see the old boards until the new ones are complete. If this node dies, another node
// builds them. IsBuilding reports whether the build is still running. If a build is
// already running, Rebuild does nothing.
func (a *Applier) Rebuild(ctx context.Context, game string) error {
	cfg, known := a.games[game]
	if !known {
		return fmt.Errorf("rebuild the leaderboards of %q: no such game", game)
	}
	served, err := a.store.ServedState(ctx, game, cfg.Hash())
	if err == nil {
		err = a.requestBuild(ctx, cfg, served.ID, reasonRequested)
	}
	if err != nil {
		return fmt.Errorf("rebuild the leaderboards of %q: %w", game, err)
	}
	return nil
}

// requestBuild begins a board set that replaces the one with id servedID. It does nothing
// if a board set is already being built. Any node may continue the build.
func (a *Applier) requestBuild(ctx context.Context, cfg Config, servedID, reason string) error {
	building, err := a.store.BuildingState(ctx, cfg.Game, cfg.Hash())
	if err != nil || building.ID != "" {
		return err
	}
	if _, err := a.beginBoardSet(ctx, cfg, servedID, reason); err != nil {
		return err
	}
	a.wakeBuilder(cfg.Game)
	return nil
}

// IsBuilding reports whether a build of the game's boards is requested or running.
func (a *Applier) IsBuilding(ctx context.Context, game string) (bool, error) {
	cfg, known := a.games[game]
	if !known {
		return false, fmt.Errorf("leaderboards of %q: no such game", game)
	}
	building, err := a.store.BuildingState(ctx, game, cfg.Hash())
	return building.ID != "", err
}
