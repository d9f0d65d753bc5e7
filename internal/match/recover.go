package match

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"laststand/internal/loop"
)

const (
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

// recovery finds what this node or other nodes have missed.
type recovery struct {
	*places
	hosts      *hosts
	settled    *settledNotices
	overloaded atomic.Bool
}

// Run recovers what was missed, until ctx ends:
//
//   - overdue matches that no live node has advanced
//   - pushes that this node has not delivered
//   - notifications that a result is settled
//   - the count of results that wait for the ledger
func (r *recovery) Run(ctx context.Context) error {
	loop.Every(ctx, recoveryInterval, func(ctx context.Context) {
		r.runRound(ctx, roundGaps, r.fillGaps)
		r.runRound(ctx, roundSweep, r.sweepOverdue)
		r.runRound(ctx, roundHosts, r.hosts.reportHosts)
		r.runRound(ctx, roundSettled, r.settled.checkSettled)
		r.runRound(ctx, roundUnsettled, r.countUnsettled)
	})
	return nil
}

// runRound runs one recovery round. After an error the next round is the retry.
func (r *recovery) runRound(ctx context.Context, name string, work func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := work(ctx); err != nil && !errors.Is(err, context.Canceled) {
		r.metrics.failedRounds.WithLabelValues(name).Inc()
		r.Logger.Warn("recovery round failed; the next round retries", "round", name, "error", err)
	}
}

// sweepOverdue advances overdue matches. It is the persistent counterpart of the
// timing wheel. Each node uses a random order, so that not all nodes begin with
// the same match.
func (r *recovery) sweepOverdue(ctx context.Context) error {
	ids, err := r.Index.ListDue(ctx, r.Now()-sweepGraceMS)
	if err != nil {
		return err
	}
	r.unreadable.retain(ids)
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) //nolint:gosec // any order will do
	return forEach(ids, func(id string) error { return r.sweepMatch(ctx, id) })
}

// sweepMatch advances an overdue match. A match that no longer exists is
// removed from the index.
func (r *recovery) sweepMatch(ctx context.Context, id string) error {
	if sweeps := r.unreadable.countOverdue(id); sweeps > 0 {
		return r.removeOrphan(ctx, id, sweeps)
	}
	local, err := r.loadMatch(ctx, id)
	if err == nil {
		r.metrics.sweptMatches.Inc()
		err = r.advance(ctx, local, View{})
	}
	switch {
	case errors.Is(err, ErrUnreadable): // other nodes may be able to read it
		return nil
	case errors.Is(err, ErrNotFound):
		return r.Index.RemoveIndexEntries(ctx, id)
	case errors.Is(err, ErrAbandoned):
		return nil
	}
	return err
}

// fillGaps reads what this node has missed of its matches. A successful read of
// their progress shows that the store is reachable.
func (r *recovery) fillGaps(ctx context.Context) error {
	running := r.runningMatches()
	ids := make([]string, len(running))
	for i, local := range running {
		ids[i] = local.plan.ID
	}
	progress, err := r.Index.ReadProgress(ctx, ids)
	if err != nil {
		return err
	}
	r.noteStoreReached(ctx)
	return forEach(running, func(local *localMatch) error {
		if local.isBehind(progress[local.plan.ID]) { // a match without progress is behind
			if err := r.fillGap(ctx, local); err != nil {
				return err
			}
		}
		return r.checkPlaces(ctx, local)
	})
}

func (r *recovery) fillGap(ctx context.Context, local *localMatch) error {
	view, err := r.read(ctx, local, local.knownState().Seq)
	err = r.handleLoss(ctx, local, err)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrAbandoned):
		return nil
	case err != nil:
		return err
	}
	if len(view.Frames) > 0 {
		r.metrics.filledGaps.Inc()
	}
	r.adoptView(local, view)
	return nil
}

func (r *recovery) countUnsettled(ctx context.Context) error {
	n, err := r.Results.CountUnsettled(ctx)
	if err != nil {
		return err
	}
	r.metrics.unsettled.Set(float64(n))
	r.overloaded.Store(n >= r.MaxUnsettled)
	return nil
}

// FillGapsNow starts a search for missed pushes immediately. The bus calls it after it was
// disconnected. It does not block.
func (r *recovery) FillGapsNow() {
	r.Wheel.After(time.Millisecond, func() { r.runRound(context.Background(), roundGaps, r.fillGaps) })
}

// ErrOverloaded reports that too many results wait for the ledger.
var ErrOverloaded = errors.New("match: too many results wait for the ledger")

// CheckOverload returns ErrOverloaded if too many results wait for the ledger
// to accept new matches.
func (r *recovery) CheckOverload() error {
	if r.overloaded.Load() {
		return ErrOverloaded
	}
	return nil
}

// noteStoreReached records that the store was reached. After an outage it adds the
// lost time to the open questions of this node.
func (r *recovery) noteStoreReached(ctx context.Context) {
	now := r.Now()
	since := r.storeReachedAt.Swap(now)
	if now-since < recoveryInterval.Milliseconds()+minOutageMS {
		return
	}
	r.Logger.Warn("store was unreachable; extending the open questions", "outage_ms", now-since)
	err := forEach(r.runningMatches(), func(local *localMatch) error {
		if local.knownState().Phase != PhaseOpen {
			return nil
		}
		return r.runSteps(ctx, local, View{}, func(plan *Plan, view View, now int64) (Step, bool) {
			lostMS := now - max(since, view.OpensAt)
			if !view.canExtend() || lostMS < minOutageMS {
				return Step{}, false
			}
			return extendStep(plan, view, lostMS, now), true
		})
	})
	if err != nil {
		r.Logger.Warn("question extension after an outage failed for some matches", "error", err)
	}
}

// removeOrphan removes an unreadable match after orphanSweeps overdue sweeps. By
// then no live node can read it.
func (r *recovery) removeOrphan(ctx context.Context, match string, sweeps int) error {
	if sweeps < orphanSweeps {
		return nil
	}
	removed, err := r.Index.RemoveOrphan(ctx, match, r.Now()-orphanSweeps*recoveryInterval.Milliseconds())
	if err != nil || !removed {
		return err
	}
	r.metrics.removedOrphans.Inc()
	r.Logger.Warn("removed a match that no live node can read; it does not count", "match", match)
	return nil
}

// orphanSweeps is how many sweeps in a row, one per second, must find an
// unreadable match overdue before it is removed. A live node that can read the
// match advances it within seconds.
const orphanSweeps = 60
