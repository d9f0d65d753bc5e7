package match

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/timer"
)

const (
	// sweepGraceMS is how long after its deadline a match is left to the nodes
	// that have its players.
	sweepGraceMS = 1000
	// maxUnsettled limits how many results may wait for the ledger before the engine
	// refuses new matches.
	maxUnsettled = 100_000
)

// The rounds of recovery.
const (
	roundGaps      = "search for missed pushes"
	roundPlaces    = "search for ended places"
	roundSweep     = "sweep of deadlines"
	roundHosts     = "presence of hosts"
	roundSettled   = "search for settled results"
	roundUnsettled = "count of unsettled results"
)

// recovery finds what this node or other nodes have missed.
type recovery struct {
	*places
	settled        *settledNotices
	reachableSince atomic.Int64 // since when this node has reached the store without a break, cluster time
	overloaded     atomic.Bool
}

func newRecovery(places *places, settled *settledNotices) *recovery {
	r := &recovery{places: places, settled: settled}
	r.reachableSince.Store(r.Now())
	return r
}

// Run recovers what was missed, until ctx ends:
//
//   - overdue matches that no live node has advanced
//   - pushes that this node has not delivered
//   - notifications that a result is settled
//   - the count of results that wait for the ledger
//
// It also tells the store which hosts are present. The search for missed pushes has its
// own loop: it notes that the store is reachable, and must not wait for slow rounds.
func (r *recovery) Run(ctx context.Context) error {
	var searches sync.WaitGroup
	searches.Go(func() {
		timer.Every(ctx, recoveryInterval, func(ctx context.Context) { r.runRound(ctx, roundGaps, r.fillGaps) })
	})
	timer.Every(ctx, recoveryInterval, func(ctx context.Context) {
		r.runRound(ctx, roundPlaces, r.findEndedPlaces)
		r.runRound(ctx, roundSweep, r.sweepOverdue)
		r.runRound(ctx, roundHosts, r.reportHosts)
		r.runRound(ctx, roundSettled, r.settled.checkSettled)
		r.runRound(ctx, roundUnsettled, r.countUnsettled)
	})
	searches.Wait()
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
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) //nolint:gosec // any order will do
	return forEach(ids, func(id string) error { return r.sweepMatch(ctx, id) })
}

// sweepMatch advances an overdue match. A match that no longer exists is
// removed from the index.
func (r *recovery) sweepMatch(ctx context.Context, id string) error {
	local, err := r.loadMatch(ctx, id)
	if err == nil {
		r.metrics.sweptMatches.Inc()
		err = r.advance(ctx, local, View{})
	}
	switch {
	case errors.Is(err, ErrUnreadable): // other nodes may be able to read it
		return r.removeOrphan(ctx, id, err)
	case errors.Is(err, ErrNotFound):
		return r.Index.RemoveIndexEntries(ctx, id)
	case errors.Is(err, ErrAbandoned):
		return nil
	}
	return err
}

// fillGaps schedules reads of what this node has missed of its matches, and releases those that
// it need not hold. A successful read of their progress shows that the store is reachable.
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
	for _, local := range running {
		if !r.dropUnused(local) && local.isBehind(progress[local.plan.ID]) { // a match without progress is behind
			r.scheduleCatchUp(local)
		}
	}
	return nil
}

// findEndedPlaces removes the sessions whose places in an arena have ended.
func (r *recovery) findEndedPlaces(ctx context.Context) error {
	return forEach(r.runningMatches(), func(local *localMatch) error { return r.checkPlaces(ctx, local) })
}

func (r *recovery) runningMatches() []*localMatch {
	return r.filterLocalMatches(func(local *localMatch) bool { return !local.knownState().Phase.hasEnded() })
}

// reportHosts reports the hosts at this node whose arenas wait for them.
func (r *recovery) reportHosts(ctx context.Context) error {
	return forEach(r.filterLocalMatches((*localMatch).waitsForPresentHost), func(local *localMatch) error {
		return r.Places.PostponeHostDeadline(ctx, local.plan.ID, r.Now()+maxHostAbsenceMS)
	})
}

func (r *recovery) countUnsettled(ctx context.Context) error {
	n, err := r.Results.CountUnsettled(ctx)
	if err != nil {
		return err
	}
	r.metrics.unsettled.Set(float64(n))
	r.overloaded.Store(n >= maxUnsettled)
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

// noteStoreReached records that the store was reached. After an outage it advances the
// open questions of this node, so that they get the lost time back.
func (r *recovery) noteStoreReached(ctx context.Context) {
	if outageMS := r.storeOutageMS(); outageMS > 0 {
		r.reachableSince.Store(r.Now())
		r.Logger.Warn("store was unreachable; extending the open questions", "outage_ms", outageMS)
		isOpen := func(local *localMatch) bool { return local.knownState().Phase == PhaseOpen }
		err := forEach(r.filterLocalMatches(isOpen), func(local *localMatch) error { return r.advance(ctx, local, View{}) })
		if err != nil {
			r.Logger.Warn("question extension after an outage failed for some matches", "error", err)
		}
	}
	r.storeReachedAt.Store(r.Now())
}

// orphanAgeMS is how long an unreadable match must be overdue, and this node must have
// reached the store, before the match is removed. A live node that can read the match
// advances it within seconds.
const orphanAgeMS = 60_000

// removeOrphan removes an overdue match that no live node can read.
func (r *recovery) removeOrphan(ctx context.Context, match string, cause error) error {
	now := r.Now()
	if now-r.reachableSince.Load() < orphanAgeMS || r.storeOutageMS() > 0 { // the end of an outage may not be noted yet
		return nil
	}
	removed, err := r.Index.RemoveOrphan(ctx, match, now-orphanAgeMS)
	if err != nil || !removed {
		return err
	}
	r.metrics.removedOrphans.Inc()
	r.Logger.Warn("removed a match that no live node can read; it does not count", "match", match, "error", cause)
	return nil
}
