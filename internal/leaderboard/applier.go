package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/timer"
)

// readyPollInterval is the time between two checks of Await.
const readyPollInterval = 10 * time.Millisecond

// ErrNoGame means that no game with a name is configured at this node.
var ErrNoGame = errors.New("no such game")

// ErrNotBuilt means that at least one game has no complete boards yet.
var ErrNotBuilt = errors.New("leaderboards are not built yet")

// Applier keeps every game's boards up to date with its ledger. Several appliers, on any
// nodes, may work at the same time. Each transaction is a compare-and-set on the version
// of the board set that it was computed from, so every row counts exactly once. A lease
// saves work: normally only one applier at a time computes transactions. Safe for
// concurrent use.
type Applier struct{ games map[string]*gameBoards }

// ApplierOptions must be complete. Games are valid Configs. Now returns epoch ms. Sweep
// uses it to find abandoned board sets. The ledger alone decides the days.
type ApplierOptions struct {
	Games    []Config
	Ledger   Ledger
	Store    Store
	Now      func() int64
	Log      *slog.Logger
	Registry prometheus.Registerer
}

// NewApplier returns an applier. Call Run for the background work.
func NewApplier(options ApplierOptions) *Applier {
	applier := &Applier{games: map[string]*gameBoards{}}
	for _, cfg := range options.Games {
		applier.games[cfg.Game] = newGameBoards(newResources(cfg, options))
	}
	return applier
}

// Run maintains the boards of every game until ctx ends. It applies rows that no call of
// Apply has applied, evicts and deletes days, builds new board sets and removes old ones.
// It logs errors, tries again, and returns nil.
func (a *Applier) Run(ctx context.Context) error {
	var games sync.WaitGroup
	for _, boards := range a.games {
		games.Go(func() { boards.run(ctx) })
	}
	games.Wait()
	return nil
}

// withGame calls work with the boards of a game. Its errors say what failed.
func (a *Applier) withGame(game, task string, work func(*gameBoards) error) error {
	err := ErrNoGame
	if boards, isKnown := a.games[game]; isKnown {
		err = work(boards)
	}
	if err != nil {
		return fmt.Errorf("%s of %q: %w", task, game, err)
	}
	return nil
}

// Apply returns nil once the served boards hold every row that the ledger held at the
// time of the call. Concurrent calls for one game share their work. Apply builds boards
// that are lost, corrupt, or ahead of a ledger that was rolled back. After an error the
// caller may call it again; rows that were applied stay applied.
func (a *Applier) Apply(ctx context.Context, game string) error {
	return a.withGame(game, "apply the ledger", func(boards *gameBoards) error { return boards.apply(ctx) })
}

// Rebuild requests new boards of the game, and returns without waiting for them. Readers
// see the old boards until the new ones are complete. If this node dies, another node
// builds them. IsBuilding reports whether the build is still running. If a build is
// already running, Rebuild does nothing.
func (a *Applier) Rebuild(ctx context.Context, game string) error {
	return a.withGame(game, "rebuild the leaderboards", func(boards *gameBoards) error {
		return boards.builder.request(ctx, reasonRequested)
	})
}

// IsBuilding reports whether a build of the game's boards is requested or running.
func (a *Applier) IsBuilding(ctx context.Context, game string) (isBuilding bool, err error) {
	err = a.withGame(game, "look up the leaderboards", func(boards *gameBoards) error {
		state, err := boards.newestState(ctx)
		isBuilding = state.PendingBuild != ""
		return err
	})
	return isBuilding, err
}

// Verify compares the served boards with the ledger's rows, first entry by entry, then the
// sizes of all boards. It compares each board at the ledger position that the board had
// when it was read, so rows may be applied during the call. It calls report with each
// difference. It skips a rolling board with an unfinished eviction. ErrNotReady means that
// no boards are served, or that other boards are served by the end.
func (a *Applier) Verify(ctx context.Context, game string, report func(Difference)) (result VerifyResult, err error) {
	err = a.withGame(game, "verify the leaderboards", func(boards *gameBoards) error {
		result, err = boards.verifier.verify(ctx, report, ctx.Err)
		return err
	})
	return result, err
}

// Ready returns nil once every game has had complete boards of this ledger. They may be
// boards of the fallback configuration, and may be behind the ledger. A game whose builds
// have failed for a minute also counts as ready; Ready logs it. A game stays ready, so
// that boards lost later do not take the node out of service. Otherwise Ready returns
// ErrNotBuilt with the names of the games that are not ready, or the store's error.
func (a *Applier) Ready(ctx context.Context) error {
	var missing []string
	for _, game := range slices.Sorted(maps.Keys(a.games)) {
		isReady, err := a.games[game].checkReady(ctx)
		if err != nil {
			return fmt.Errorf("leaderboards of %s: %w", game, err)
		}
		if !isReady {
			missing = append(missing, game)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s", ErrNotBuilt, strings.Join(missing, ", "))
	}
	return nil
}

// Await waits until Ready returns nil or ctx ends, and returns the last result of Ready.
// The caller must have started Run.
func (a *Applier) Await(ctx context.Context) error {
	for {
		err := a.Ready(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		timer.Sleep(ctx, readyPollInterval)
	}
}
