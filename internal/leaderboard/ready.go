package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// readyPollInterval is the time between two checks of Await.
	readyPollInterval = 10 * time.Millisecond
	// maxFailingTime is how long a game's builds may fail before the node counts as ready
	// without the game's boards.
	maxFailingTime = time.Minute
)

// ErrNotBuilt means that at least one game has no complete boards yet.
var ErrNotBuilt = errors.New("leaderboards are not built yet")

// readiness records which games have been ready, and since when the builds of other games
// fail. Safe for concurrent use.
type readiness struct {
	mu           sync.Mutex
	readyGames   map[string]bool      // by game
	failingSince map[string]time.Time // by game: start of the current series of failed builds
}

func (r *readiness) isReady(game string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readyGames[game]
}

func (r *readiness) setReady(game string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readyGames[game] = true
}

// recordBuildResult records whether a build of a game failed.
func (r *readiness) recordBuildResult(game string, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !failed {
		delete(r.failingSince, game)
	} else if r.failingSince[game].IsZero() {
		r.failingSince[game] = time.Now()
	}
}

// hasFailedTooLong reports whether the builds of a game have failed for maxFailingTime or
// longer.
func (r *readiness) hasFailedTooLong(game string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.failingSince[game]
	return !since.IsZero() && time.Since(since) >= maxFailingTime
}

// Ready returns nil once every game has had complete boards of this ledger. They may be
// boards of the fallback configuration, and may be behind the ledger. A game whose builds
// have failed for a minute also counts as ready; Ready logs it. A game stays ready, so
// that boards lost later do not take the node out of service. Otherwise Ready returns
// ErrNotBuilt with the names of the games that are not ready, or the store's error.
func (a *Applier) Ready(ctx context.Context) error {
	var missing []string
	for _, game := range slices.Sorted(maps.Keys(a.games)) {
		if a.readiness.isReady(game) {
			continue
		}
		complete, err := a.hasCompleteBoards(ctx, a.games[game])
		switch {
		case complete:
			a.readiness.setReady(game)
		case a.readiness.hasFailedTooLong(game):
			a.readiness.setReady(game)
			a.log.ErrorContext(ctx, "leaderboard build keeps failing; node starts without these boards", "game", game)
		case err != nil:
			return fmt.Errorf("leaderboards of %s: %w", game, err)
		default:
			missing = append(missing, game)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s", ErrNotBuilt, strings.Join(missing, ", "))
	}
	return nil
}

// hasCompleteBoards reports whether boards of a game are served that are complete and
// belong to this ledger.
func (a *Applier) hasCompleteBoards(ctx context.Context, newestConfig Config) (bool, error) {
	cfg, err := a.servedConfig(ctx, newestConfig)
	if err != nil {
		return false, err
	}
	served, err := a.store.ServedState(ctx, newestConfig.Game, cfg.Hash())
	return err == nil && served.Version != "" && served.Watermark.Epoch == a.ledger.Epoch(), err
}

// Await waits until Ready returns nil or ctx ends, and returns the last result of Ready.
// The caller must have started Run.
func (a *Applier) Await(ctx context.Context) error {
	for {
		err := a.Ready(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		sleep(ctx, readyPollInterval)
	}
}
