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
	// readyPoll is the interval at which Await checks the boards.
	readyPoll = 10 * time.Millisecond
	// maxFailing is how long a game's builds may fail before the node counts as ready
	// without its boards.
	maxFailing = time.Minute
)

// ErrNotBuilt means that a game has no complete boards yet.
var ErrNotBuilt = errors.New("leaderboards are not built yet")

// readiness remembers which games have been ready, and since when the builds of other
// games fail.
type readiness struct {
	mu      sync.Mutex
	ready   map[string]bool
	failing map[string]time.Time
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

// recordBuild records whether a build failed.
func (r *readiness) recordBuild(game string, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !failed {
		delete(r.failing, game)
	} else if r.failing[game].IsZero() {
		r.failing[game] = time.Now()
	}
}

// isHopeless reports whether the builds of a game have failed for maxFailing.
func (r *readiness) isHopeless(game string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.failing[game]
	return !since.IsZero() && time.Since(since) >= maxFailing
}

// Ready returns nil once every game has had complete boards of this ledger, of its
// configuration or of the fallback. The boards may be behind the ledger. A game whose
// builds fail for a minute no longer delays the others: Ready logs it and does not wait
// for it. A game stays ready, so that boards lost later do not take the node out of
// service. Otherwise Ready returns ErrNotBuilt with the names of the games, or the
// store's error.
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

// isComplete reports whether the served boards of a game are complete and belong to this
// ledger.
func (a *Applier) isComplete(ctx context.Context, newest Config) (bool, error) {
	cfg, err := a.servedConfig(ctx, newest)
	if err != nil {
		return false, err
	}
	served, err := a.store.ServedState(ctx, newest.Game, cfg.Hash())
	return err == nil && served.Version != "" && served.Mark.Epoch == a.ledger.Epoch(), err
}

// Await waits until Ready returns nil or ctx ends. Run must be running. Await
// returns the last result of Ready.
func (a *Applier) Await(ctx context.Context) error {
	for {
		err := a.Ready(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		sleep(ctx, readyPoll)
	}
}
