package leaderboard

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

const (
	buildLeaseTTL      = 30 * time.Second
	buildRenewInterval = buildLeaseTTL / 6 // minimum time between two renewals while sums are loaded
	buildPollInterval  = 20 * time.Millisecond
)

// Reasons for a build: label values of a metric.
const (
	reasonNeverBuilt  = "first"       // there are no boards of this configuration
	reasonLost        = "lost"        // Redis lost the boards, or a transaction was interrupted
	reasonOtherLedger = "ledger"      // the boards belong to another ledger
	reasonRolledBack  = "rolled_back" // the boards hold rows that the ledger lacks
	reasonRequested   = "asked"       // Rebuild was called
	reasonDifferences = "drift"       // a verification found differences from the ledger
	reasonCorrupt     = "roll"        // entries contradict each other, or a rolling window is too far behind
	reasonTakenOver   = "taken_over"  // another node left the board set half built
)

// buildDecision says whether the boards of a configuration must be built.
type buildDecision struct {
	served, building BoardSetState
	isNeeded         bool
	reason           string // set if isNeeded
}

func (a *Applier) decideBuild(ctx context.Context, cfg Config) (decision buildDecision, err error) {
	if decision.served, err = a.store.ServedState(ctx, cfg.Game, cfg.Hash()); err != nil {
		return buildDecision{}, err
	}
	if decision.building, err = a.store.BuildingState(ctx, cfg.Game, cfg.Hash()); err != nil {
		return buildDecision{}, err
	}
	if decision.building.ID != "" {
		decision.isNeeded, decision.reason = true, reasonTakenOver
		return decision, nil
	}
	decision.reason, err = a.unusableReason(ctx, decision.served)
	decision.isNeeded = decision.reason != ""
	return decision, err
}

// unusableReason returns why no rows can be applied to a board set, or "" if rows can be
// applied. It reads the ledger to check that the watermark's row still exists.
func (a *Applier) unusableReason(ctx context.Context, state BoardSetState) (reason string, err error) {
	switch {
	case state.ID == "":
		return reasonNeverBuilt, nil
	case state.Version == "":
		return reasonLost, nil
	case state.Watermark.Epoch != a.ledger.Epoch():
		return reasonOtherLedger, nil
	case state.Watermark.Pos == 0:
		return "", nil
	}
	rows, err := a.ledger.ReadRows(ctx, state.Game, state.Watermark.Pos-1, 1)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 || rows[0].Pos != state.Watermark.Pos || rows[0].ID != state.Watermark.RowID {
		return reasonRolledBack, nil
	}
	return "", nil
}

// build returns once usable boards of cfg are served and no other board set of cfg is
// being built. It records success or failure for Ready and the metrics.
func (a *Applier) build(ctx context.Context, cfg Config) error {
	err := a.buildWithLease(ctx, cfg)
	if err != nil && ctx.Err() != nil { // the caller cancelled the call; the build did not fail
		return err
	}
	a.readiness.recordBuildResult(cfg.Game, err != nil)
	failing := 0.0
	if err != nil {
		failing = 1
	}
	a.metrics.buildFailing.WithLabelValues(cfg.Game).Set(failing)
	return err
}

// buildWithLease does the work of build. One node at a time builds. The other nodes wait,
// and continue the build if that node dies. The context may end at any point.
func (a *Applier) buildWithLease(ctx context.Context, cfg Config) error {
	if err := a.buildLocks[cfg.Game].lock(ctx); err != nil {
		return err
	}
	defer a.buildLocks[cfg.Game].unlock()
	leaseID := buildLeaseID(cfg)
	for ctx.Err() == nil {
		decision, err := a.decideBuild(ctx, cfg)
		if err != nil || !decision.isNeeded {
			return err
		}
		hasLease, err := a.store.AcquireLease(ctx, leaseID, a.holderID, buildLeaseTTL)
		if err != nil {
			return err
		}
		if !hasLease {
			sleep(ctx, buildPollInterval)
			continue
		}
		err = a.runBuild(ctx, cfg, decision)
		err = errors.Join(err, a.store.ReleaseLease(context.WithoutCancel(ctx), leaseID, a.holderID))
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
	}
	return ctx.Err()
}

// runBuild continues the board set being built, or replaces it if it is unusable. It
// returns once the board set is served. ErrStale means that another node is building.
func (a *Applier) runBuild(ctx context.Context, cfg Config, decision buildDecision) error {
	state := decision.building
	reason, err := a.unusableReason(ctx, state)
	if err != nil {
		return err
	}
	if reason != "" || state.Loading && state.Watermark.Pos > 0 { // sums of one snapshot cannot be completed from another
		if state, err = a.restartBuild(ctx, cfg, decision); err != nil {
			return err
		}
	}
	if state.Loading {
		if state, err = a.loadSums(ctx, cfg, state); err != nil {
			return err
		}
	}
	return a.finishBuild(ctx, cfg, state)
}

// restartBuild begins an empty board set in place of the unusable one, and returns its
// state. ErrStale means that another node has begun one.
func (a *Applier) restartBuild(ctx context.Context, cfg Config, decision buildDecision) (BoardSetState, error) {
	replacedID := decision.served.ID
	if decision.building.ID != "" {
		replacedID = decision.building.ID
	}
	newID, err := a.beginBoardSet(ctx, cfg, replacedID, decision.reason)
	if err != nil {
		return BoardSetState{}, err
	}
	state, err := a.store.BuildingState(ctx, cfg.Game, cfg.Hash())
	if err == nil && state.ID != newID {
		return BoardSetState{}, ErrStale
	}
	return state, err
}

// beginBoardSet begins an empty board set that replaces the one with id replacedID. That
// one may be served or being built. It returns the new id. Any node may continue the
// build.
func (a *Applier) beginBoardSet(ctx context.Context, cfg Config, replacedID, reason string) (id string, err error) {
	newState := BoardSetState{
		BoardSet: BoardSet{Game: cfg.Game, ConfigHash: cfg.Hash(), ID: rand.Text()[:8]},
		Version:  rand.Text(), Loading: true, BegunAt: a.now(),
		Progress: Progress{Watermark: Watermark{Epoch: a.ledger.Epoch()}},
	}
	a.log.InfoContext(ctx, "leaderboard build started", "game", cfg.Game, "config", newState.ConfigHash, "reason", reason, "instead_of", replacedID)
	a.metrics.builds.WithLabelValues(cfg.Game, reason).Inc()
	return newState.ID, a.store.Begin(ctx, cfg, newState, replacedID)
}

// finishBuild applies the rows committed since the load to a loaded board set, and
// publishes it. It publishes under the apply lease, so the new board set lacks no row of
// the one that it replaces.
func (a *Applier) finishBuild(ctx context.Context, cfg Config, state BoardSetState) error {
	for {
		if err := a.renewLease(ctx, buildLeaseID(cfg), buildLeaseTTL); err != nil {
			return err
		}
		more, err := a.applyBuildPage(ctx, cfg, state)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if state, err = a.store.BuildingState(ctx, cfg.Game, cfg.Hash()); err != nil {
			return err
		}
	}
	served, err := a.servedConfig(ctx, cfg)
	if err != nil {
		return err
	}
	return a.withApplyLease(ctx, served, func() error { return a.publishBuild(ctx, cfg) }, nil)
}

// applyBuildPage applies the next page of rows to a board set being built. It reports
// whether there may be more rows. ErrStale means that rows no longer apply to it.
func (a *Applier) applyBuildPage(ctx context.Context, cfg Config, state BoardSetState) (more bool, err error) {
	if state.Version == "" || state.Loading {
		return false, ErrStale
	}
	rows, hasMarkRow, err := a.rowsAfter(ctx, cfg.Game, state.Watermark)
	if err == nil && !hasMarkRow {
		err = ErrStale
	}
	if err != nil {
		return false, err
	}
	// No day is evicted from a board set being built, so no row has to wait.
	err = a.commitRows(ctx, cfg, state, rows)
	if errors.Is(err, errCorrupt) { // a retry would fail again, so start with an empty board set
		if _, err := a.beginBoardSet(ctx, cfg, state.ID, reasonLost); err != nil {
			return false, err
		}
		return false, ErrStale
	}
	return len(rows) == rowsPerRead, err
}

// publishBuild makes the built board set the served one, unless it lacks more than a page
// of rows.
func (a *Applier) publishBuild(ctx context.Context, cfg Config) error {
	state, err := a.store.BuildingState(ctx, cfg.Game, cfg.Hash())
	if err != nil {
		return err
	}
	if more, err := a.applyBuildPage(ctx, cfg, state); err != nil || more {
		return err
	}
	return a.store.Publish(ctx, state)
}

func buildLeaseID(cfg Config) LeaseID {
	return LeaseID{Game: cfg.Game, ConfigHash: cfg.Hash(), Work: "build"}
}
