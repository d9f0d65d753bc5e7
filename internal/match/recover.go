package match

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	recoveryInterval = time.Second
	// sweepGraceMS is how long after its deadline a match is left to the nodes
	// that have its players.
	sweepGraceMS = 1000
)

// The rounds of recovery.
const (
	roundGaps      = "search for missed pushes"
	roundSweep     = "sweep of deadlines"
	roundHosts     = "presence of hosts"
	roundSettled   = "search for settled results"
	roundUnsettled = "count of unsettled results"
)

// Run recovers what was missed, until ctx ends:
//
//   - overdue matches that no live node has advanced
//   - pushes that this node has not delivered
//   - notifications that a result is settled
//   - the count of results that wait for the ledger
func (e *Engine) Run(ctx context.Context) error {
	tick := time.NewTicker(recoveryInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		e.runRound(ctx, roundGaps, e.fillGaps)
		e.runRound(ctx, roundSweep, e.sweepOverdue)
		e.runRound(ctx, roundHosts, e.reportHosts)
		e.runRound(ctx, roundSettled, e.checkSettled)
		e.runRound(ctx, roundUnsettled, e.countUnsettled)
	}
}

// runRound runs one recovery round. After an error the next round is the retry.
func (e *Engine) runRound(ctx context.Context, name string, work func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := work(ctx); err != nil && !errors.Is(err, context.Canceled) {
		e.metrics.failedRounds.WithLabelValues(name).Inc()
		e.Logger.Warn("recovery round failed; the next round retries", "round", name, "error", err)
	}
}

// recoveryConcurrency is how many matches a recovery round handles at the same
// time.
const recoveryConcurrency = 32

// forEach runs do for all items, several at the same time. An item that fails
// does not stop the others. It returns the first error.
func forEach[T any](all []T, do func(T) error) error {
	var group errgroup.Group
	group.SetLimit(recoveryConcurrency)
	for _, item := range all {
		group.Go(func() error { return do(item) })
	}
	return group.Wait()
}

// sweepOverdue advances overdue matches. It is the persistent counterpart of the
// timing wheel. Each node uses a random order, so that not all nodes begin with
// the same match.
func (e *Engine) sweepOverdue(ctx context.Context) error {
	ids, err := e.Index.ListDue(ctx, e.Now()-sweepGraceMS)
	if err != nil {
		return err
	}
	e.unreadable.retain(ids)
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) //nolint:gosec // any order will do
	return forEach(ids, func(id string) error { return e.sweepMatch(ctx, id) })
}

// sweepMatch advances an overdue match. A match that no longer exists is
// removed from the index.
func (e *Engine) sweepMatch(ctx context.Context, id string) error {
	if sweeps := e.unreadable.countOverdue(id); sweeps > 0 {
		return e.removeOrphan(ctx, id, sweeps)
	}
	local, err := e.loadMatch(ctx, id)
	if err == nil {
		e.metrics.sweptMatches.Inc()
		err = e.advance(ctx, local, View{})
	}
	switch {
	case errors.Is(err, ErrUnreadable): // other nodes may be able to read it
		return nil
	case errors.Is(err, ErrNotFound):
		return e.Index.RemoveIndexEntries(ctx, id)
	case errors.Is(err, ErrAbandoned):
		return nil
	}
	return err
}

// fillGaps reads what this node has missed of its matches. A successful read of
// their progress shows that the store is reachable.
func (e *Engine) fillGaps(ctx context.Context) error {
	running := e.runningMatches()
	ids := make([]string, len(running))
	for i, local := range running {
		ids[i] = local.plan.ID
	}
	progress, err := e.Index.ReadProgress(ctx, ids)
	if err != nil {
		return err
	}
	e.noteStoreReached(ctx)
	return forEach(running, func(local *localMatch) error {
		if local.isBehind(progress[local.plan.ID]) { // a match without progress is behind
			if err := e.fillGap(ctx, local); err != nil {
				return err
			}
		}
		return e.checkPlaces(ctx, local)
	})
}

func (e *Engine) fillGap(ctx context.Context, local *localMatch) error {
	view, err := e.read(ctx, local, local.knownState().Seq)
	err = e.handleLoss(ctx, local, err)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrAbandoned):
		return nil
	case err != nil:
		return err
	}
	if len(view.Frames) > 0 {
		e.metrics.filledGaps.Inc()
	}
	e.adoptView(local, view)
	return nil
}

func (e *Engine) countUnsettled(ctx context.Context) error {
	n, err := e.Index.CountUnsettled(ctx)
	if err != nil {
		return err
	}
	e.metrics.unsettled.Set(float64(n))
	e.overloaded.Store(n >= e.MaxUnsettled)
	return nil
}
