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

// readyPoll is how often Await looks whether the boards are ready.
const readyPoll = 10 * time.Millisecond

// ErrNotBuilt means that a game has no complete boards yet.
var ErrNotBuilt = errors.New("leaderboards are not built yet")

// readiness remembers which games have been ready.
type readiness struct {
	mu    sync.Mutex
	ready map[string]bool
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

// Ready returns nil once every game had complete boards of its configuration and
// of this ledger. They may be behind the ledger, and others may be built beside
// them. A game stays ready: boards that are lost later must not take the node
// from its players. Otherwise it returns ErrNotBuilt with the games' names, or
// the store's error.
func (a *Applier) Ready(ctx context.Context) error {
	var missing []string
	for _, game := range slices.Sorted(maps.Keys(a.games)) {
		if a.ready.has(game) {
			continue
		}
		cfg := a.games[game]
		served, err := a.store.Served(ctx, game, cfg.Form())
		if err != nil {
			return fmt.Errorf("leaderboards of %s: %w", game, err)
		}
		if served.Stamp == "" || served.Mark.Epoch != a.ledger.Epoch() {
			missing = append(missing, game)
			continue
		}
		a.ready.add(game)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s", ErrNotBuilt, strings.Join(missing, ", "))
	}
	return nil
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
