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
	// readyPoll is how often Await looks whether the boards are ready.
	readyPoll = 10 * time.Millisecond
	// maxFailing is how long the builds of a game may fail before the node is
	// ready without its boards.
	maxFailing = time.Minute
)

// ErrNotBuilt means that a game has no complete boards yet.
var ErrNotBuilt = errors.New("leaderboards are not built yet")

// readiness remembers which games have been ready, and since when the builds of
// others fail.
type readiness struct {
	mu      sync.Mutex
	ready   map[string]bool
	failing map[string]time.Time
}

func (r *readiness) has(game string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready[game]
}

func (r *readiness) add(game string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready[game] = true
}

// note keeps how a build ended.
func (r *readiness) note(game string, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !failed {
		delete(r.failing, game)
	} else if r.failing[game].IsZero() {
		r.failing[game] = time.Now()
	}
}

// isHopeless says whether the builds of a game have failed for maxFailing.
func (r *readiness) isHopeless(game string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.failing[game]
	return !since.IsZero() && time.Since(since) >= maxFailing
}

// Ready returns nil once every game had complete boards of this ledger: those of
// its configuration, or those that are read until they are built. They may be
// behind the ledger, and others may be built beside them. A game whose builds fail
// for a minute holds up the others no longer: its boards are not ready, and it is
// logged. A game stays ready: boards that are lost later must not take the node
// from its players. Otherwise Ready returns ErrNotBuilt with the games' names, or
// the store's error.
func (a *Applier) Ready(ctx context.Context) error {
	var missing []string
	for _, game := range slices.Sorted(maps.Keys(a.games)) {
		if a.ready.has(game) {
			continue
		}
		complete, err := a.isComplete(ctx, a.games[game])
		switch {
		case complete:
			a.ready.add(game)
		case a.ready.isHopeless(game):
			a.ready.add(game)
			a.log.ErrorContext(ctx, "the leaderboards of a game cannot be built; the node is ready without them and tries again", "game", game)
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

// isComplete says whether the boards that readers of a game see are whole and of
// this ledger.
func (a *Applier) isComplete(ctx context.Context, own Config) (bool, error) {
	cfg, err := a.seen(ctx, own)
	if err != nil {
		return false, err
	}
	served, err := a.store.Served(ctx, own.Game, cfg.Form())
	return err == nil && served.Stamp != "" && served.Mark.Epoch == a.ledger.Epoch(), err
}

// Await waits while Run builds, until Ready returns nil or ctx ends. It returns
// what Ready returned last.
func (a *Applier) Await(ctx context.Context) error {
	for {
		err := a.Ready(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		rest(ctx, readyPoll)
	}
}
