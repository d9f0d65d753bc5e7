package leaderboard

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

const (
	buildLease = 30 * time.Second
	buildRenew = buildLease / 6 // minimum time between two renewals while sums are loaded
	buildPoll  = 20 * time.Millisecond
)

// Reasons for a build: label values of a metric.
const (
	neverBuilt  = "first"       // there are no boards of this configuration
	copyLost    = "lost"        // Redis lost the boards, or a transaction was interrupted
	otherLedger = "ledger"      // the boards belong to another ledger
	rolledBack  = "rolled_back" // the boards hold rows that the ledger lacks
	requested   = "asked"       // Rebuild was called
	drifted     = "drift"       // a verification found differences from the ledger
	rollBroken  = "roll"        // entries contradict each other, or a rolling window is too far behind
	takenOver   = "taken_over"  // another node left the board set half built
)

// buildDecision says whether the boards of a configuration must be built.
type buildNeed struct {
	served, building State
	isNeeded         bool
	reason           string // set if isNeeded
}

func (a *Applier) checkBuild(ctx context.Context, cfg Config) (found buildNeed, err error) {
	if found.served, err = a.store.ServedState(ctx, cfg.Game, cfg.Hash()); err != nil {
		return buildNeed{}, err
	}
	if found.building, err = a.store.BuildingState(ctx, cfg.Game, cfg.Hash()); err != nil {
		return buildNeed{}, err
	}
	if found.building.ID != "" {
		found.isNeeded, found.reason = true, takenOver
		return found, nil
	}
	found.reason, err = a.unusableReason(ctx, found.served)
	found.isNeeded = found.reason != ""
	return found, err
}

// unusableReason returns why no rows can be applied to a board set, or "" if rows can be
// applied. It reads the ledger to check that the watermark's row still exists.
func (a *Applier) unusableReason(ctx context.Context, s State) (reason string, err error) {
	switch {
	case s.ID == "":
		return neverBuilt, nil
	case s.Version == "":
		return copyLost, nil
	case s.Mark.Epoch != a.ledger.Epoch():
		return otherLedger, nil
	case s.Mark.Pos == 0:
		return "", nil
	}
	rows, err := a.ledger.ReadRows(ctx, s.Game, s.Mark.Pos-1, 1)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 || rows[0].Pos != s.Mark.Pos || rows[0].ID != s.Mark.RowID {
		return rolledBack, nil
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
	a.ready.recordBuild(cfg.Game, err != nil)
	failing := 0.0
	if err != nil {
		failing = 1
	}
	a.metrics.failing.WithLabelValues(cfg.Game).Set(failing)
	return err
}

// buildWithLease does the work of build. One node at a time builds. The other nodes wait,
// and continue the build if that node dies. The context may end at any point.
func (a *Applier) buildWithLease(ctx context.Context, cfg Config) error {
	if err := a.buildLocks[cfg.Game].lock(ctx); err != nil {
		return err
	}
	defer a.buildLocks[cfg.Game].unlock()
	duty := buildDuty(cfg)
	for ctx.Err() == nil {
		need, err := a.checkBuild(ctx, cfg)
		if err != nil || !need.isNeeded {
			return err
		}
		isOurs, err := a.store.AcquireLease(ctx, duty, a.holderID, buildLease)
		if err != nil {
			return err
		}
		if !isOurs {
			sleep(ctx, buildPoll)
			continue
		}
		err = a.runBuild(ctx, cfg, need)
		err = errors.Join(err, a.store.ReleaseLease(context.WithoutCancel(ctx), duty, a.holderID))
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
	}
	return ctx.Err()
}

// runBuild continues the board set being built, or replaces it if it is unusable. It
// returns once the board set is served. ErrStale means that another node is building.
func (a *Applier) runBuild(ctx context.Context, cfg Config, need buildNeed) error {
	s := need.building
	reason, err := a.unusableReason(ctx, s)
	if err != nil {
		return err
	}
	if reason != "" || s.Loading && s.Mark.Pos > 0 { // sums of one snapshot cannot be completed from another
		if s, err = a.restartCopy(ctx, cfg, need); err != nil {
			return err
		}
	}
	if s.Loading {
		if s, err = a.load(ctx, cfg, s); err != nil {
			return err
		}
	}
	return a.catchUpCopy(ctx, cfg, s)
}

// restartBuild begins an empty board set in place of the unusable one, and returns its
// state. ErrStale means that another node has begun one.
func (a *Applier) restartCopy(ctx context.Context, cfg Config, need buildNeed) (State, error) {
	replaced := need.served.ID
	if need.building.ID != "" {
		replaced = need.building.ID
	}
	fresh, err := a.beginCopy(ctx, cfg, replaced, need.reason)
	if err != nil {
		return State{}, err
	}
	s, err := a.store.BuildingState(ctx, cfg.Game, cfg.Hash())
	if err == nil && s.ID != fresh {
		return State{}, ErrStale
	}
	return s, err
}

// beginBoardSet begins an empty board set that replaces the one with id replacedID. That
// one may be served or being built. It returns the new id. Any node may continue the
// build.
func (a *Applier) beginCopy(ctx context.Context, cfg Config, replaced, reason string) (id string, err error) {
	fresh := State{
		Generation: Generation{Game: cfg.Game, ConfigHash: cfg.Hash(), ID: rand.Text()[:8]},
		Version:    rand.Text(), Loading: true, BegunAt: a.now(),
		Progress: Progress{Mark: Watermark{Epoch: a.ledger.Epoch()}},
	}
	a.log.InfoContext(ctx, "leaderboard build started", "game", cfg.Game, "config", fresh.ConfigHash, "reason", reason, "instead_of", replaced)
	a.metrics.builds.WithLabelValues(cfg.Game, reason).Inc()
	return fresh.ID, a.store.Begin(ctx, cfg, fresh, replaced)
}

// finishBuild applies the rows committed since the load to a loaded board set, and
// publishes it. It publishes under the apply lease, so the new board set lacks no row of
// the one that it replaces.
func (a *Applier) catchUpCopy(ctx context.Context, cfg Config, s State) error {
	for {
		if err := a.renewLease(ctx, buildDuty(cfg), buildLease); err != nil {
			return err
		}
		more, err := a.advanceCopy(ctx, cfg, s)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if s, err = a.store.BuildingState(ctx, cfg.Game, cfg.Hash()); err != nil {
			return err
		}
	}
	served, err := a.servedConfig(ctx, cfg)
	if err != nil {
		return err
	}
	return a.withApplyLease(ctx, served, func() error { return a.publishCopy(ctx, cfg) }, nil)
}

// applyBuildPage applies the next page of rows to a board set being built. It reports
// whether there may be more rows. ErrStale means that rows no longer apply to it.
func (a *Applier) advanceCopy(ctx context.Context, cfg Config, s State) (more bool, err error) {
	if s.Version == "" || s.Loading {
		return false, ErrStale
	}
	rows, isHeld, err := a.rowsAfter(ctx, cfg.Game, s.Mark)
	if err == nil && !isHeld {
		err = ErrStale
	}
	if err != nil {
		return false, err
	}
	// No day is evicted from a board set being built, so no row has to wait.
	err = a.commitRows(ctx, cfg, s, rows)
	if errors.Is(err, errCorrupt) { // a retry would fail again, so start with an empty board set
		if _, err := a.beginCopy(ctx, cfg, s.ID, copyLost); err != nil {
			return false, err
		}
		return false, ErrStale
	}
	return len(rows) == pageRows, err
}

// publishBuild makes the built board set the served one, unless it lacks more than a page
// of rows.
func (a *Applier) publishCopy(ctx context.Context, cfg Config) error {
	s, err := a.store.BuildingState(ctx, cfg.Game, cfg.Hash())
	if err != nil {
		return err
	}
	if more, err := a.advanceCopy(ctx, cfg, s); err != nil || more {
		return err
	}
	return a.store.Publish(ctx, s)
}

func buildDuty(cfg Config) Duty { return Duty{Game: cfg.Game, ConfigHash: cfg.Hash(), Name: "build"} }
