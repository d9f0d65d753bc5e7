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
	readyPoll = 10 * time.Millisecond
	// maxFailingTime is how long a game's builds may fail before the node counts as ready
	// without the game's boards.
	maxFailing = time.Minute
)

// ErrNotBuilt means that at least one game has no complete boards yet.
var ErrNotBuilt = errors.New("leaderboards are not built yet")

// readiness records which games have been ready, and since when the builds of other games
// fail. Safe for concurrent use.
type readiness struct {
	mu      sync.Mutex
	ready   map[string]bool      // by game
	failing map[string]time.Time // by game: start of the current series of failed builds
}

func (r *readiness) isReady(game string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready[game]
}

func (r *readiness) setReady(game string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready[game] = true
}

// recordBuildResult records whether a build of a game failed.
func (r *readiness) recordBuild(game string, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !failed {
		delete(r.failing, game)
	} else if r.failing[game].IsZero() {
		r.failing[game] = time.Now()
	}
}

// hasFailedTooLong reports whether the builds of a game have failed for maxFailingTime or
// longer.
func (r *readiness) isHopeless(game string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.failing[game]
	return !since.IsZero() && time.Since(since) >= maxFailing
}

// Ready returns nil once every game has had complete boards of this ledger. They may be
// boards of the fallback configuration, and may be behind the ledger. A game whose builds
// have failed for a minute also counts as ready; Ready logs it. A game stays ready, so
// that boards lost later do not take the node out of service. Otherwise Ready returns
// ErrNotBuilt with the names of the games that are not ready, or the store's error.
func (a *Applier) Ready(ctx context.Context) error {
	var missing []string
	for _, game := range slices.Sorted(maps.Keys(a.games)) {
		if a.ready.isReady(game) {
			continue
		}
		complete, err := a.isComplete(ctx, a.games[game])
		switch {
		case complete:
			a.ready.setReady(game)
		case a.ready.isHopeless(game):
			a.ready.setReady(game)
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
func (a *Applier) isComplete(ctx context.Context, newest Config) (bool, error) {
	cfg, err := a.servedConfig(ctx, newest)
	if err != nil {
		return false, err
	}
	served, err := a.store.ServedState(ctx, newest.Game, cfg.Hash())
	return err == nil && served.Version != "" && served.Mark.Epoch == a.ledger.Epoch(), err
}

// Await waits until Ready returns nil or ctx ends, and returns the last result of Ready.
// The caller must have started Run.
func (a *Applier) Await(ctx context.Context) error {
	for {
		err := a.Ready(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		sleep(ctx, readyPoll)
	}
}
