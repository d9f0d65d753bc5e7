package leaderboard

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

const (
	buildLease = 30 * time.Second
	buildRenew = buildLease / 6 // between two renewals by a load
	buildPoll  = 20 * time.Millisecond
)

// Why boards are built.
const (
	neverBuilt  = "first"       // there are none of this form
	copyLost    = "lost"        // with Redis, or torn by a step that was cut short
	otherLedger = "ledger"      // they are a view of another one
	rolledBack  = "rolled_back" // they hold rows that the ledger does not, or not there
	askedFor    = "asked"       // Rebuild
	drifted     = "drift"       // the slow check found differences
	rollBroken  = "roll"        // the days of a rolling window do not add up
	takenOver   = "taken_over"  // who was building has left it half loaded
)

// need says what is to be done about the boards of a form.
type need struct {
	served, building State
	build            bool
	reason           string // for which a copy is to be begun
}

func (a *Applier) need(ctx context.Context, cfg Config) (n need, err error) {
	if n.served, err = a.store.Served(ctx, cfg.Game, cfg.Form()); err != nil {
		return need{}, err
	}
	if n.building, err = a.store.Building(ctx, cfg.Game, cfg.Form()); err != nil {
		return need{}, err
	}
	if n.building.ID != "" {
		n.build, n.reason = true, takenOver
		return n, nil
	}
	n.reason, err = a.unfit(ctx, n.served)
	n.build = n.reason != ""
	return n, err
}

// unfit says why a copy cannot be carried on; empty: it can. One read of the
// ledger tells whether it holds the row of the copy's watermark.
func (a *Applier) unfit(ctx context.Context, s State) (reason string, err error) {
	switch {
	case s.ID == "":
		return neverBuilt, nil
	case s.Stamp == "":
		return copyLost, nil
	case s.Mark.Epoch != a.ledger.Epoch():
		return otherLedger, nil
	case s.Mark.Pos == 0:
		return "", nil
	}
	rows, err := a.ledger.Rows(ctx, s.Game, s.Mark.Pos-1, 1)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 || rows[0].Pos != s.Mark.Pos || rows[0].ID != s.Mark.RowID {
		return rolledBack, nil
	}
	return "", nil
}

// build returns once boards of cfg's form are served that can be carried on,
// and none are being built beside them. It notes whether that failed.
func (a *Applier) build(ctx context.Context, cfg Config) error {
	err := a.buildAlone(ctx, cfg)
	if err != nil && ctx.Err() != nil { // the caller's end says nothing
		return err
	}
	a.ready.note(cfg.Game, err != nil)
	failing := 0.0
	if err != nil {
		failing = 1
	}
	a.metrics.failing.WithLabelValues(cfg.Game).Set(failing)
	return err
}

// buildAlone is build. One node at a time is at it; the others
// wait for it, or go on with it should it die. It may be ended anywhere.
func (a *Applier) buildAlone(ctx context.Context, cfg Config) error {
	if err := a.builds[cfg.Game].enter(ctx); err != nil {
		return err
	}
	defer a.builds[cfg.Game].leave()
	duty := buildDuty(cfg)
	for ctx.Err() == nil {
		n, err := a.need(ctx, cfg)
		if err != nil || !n.build {
			return err
		}
		mine, err := a.store.Lease(ctx, duty, a.id, buildLease)
		if err != nil {
			return err
		}
		if !mine {
			rest(ctx, buildPoll)
			continue
		}
		err = a.construct(ctx, cfg, n)
		err = errors.Join(err, a.store.Release(context.WithoutCancel(ctx), duty, a.id))
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
	}
	return ctx.Err()
}

// construct carries on with the copy that is being built, or with another one
// where that is of no use, until readers see it. ErrStale: others are at it.
func (a *Applier) construct(ctx context.Context, cfg Config, n need) error {
	s := n.building
	useless, err := a.unfit(ctx, s)
	if err != nil {
		return err
	}
	if useless != "" || s.Loading && s.Mark.Pos > 0 { // one moment's sums cannot be read on at another
		if s, err = a.afresh(ctx, cfg, n); err != nil {
			return err
		}
	}
	if s.Loading {
		if s, err = a.load(ctx, cfg, s); err != nil {
			return err
		}
	}
	return a.follow(ctx, cfg, s)
}

// afresh begins an empty copy and returns it.
func (a *Applier) afresh(ctx context.Context, cfg Config, n need) (State, error) {
	instead := n.served.ID
	if n.building.ID != "" {
		instead = n.building.ID
	}
	fresh, err := a.begin(ctx, cfg, instead, n.reason)
	if err != nil {
		return State{}, err
	}
	s, err := a.store.Building(ctx, cfg.Game, cfg.Form())
	if err == nil && s.ID != fresh {
		return State{}, ErrStale
	}
	return s, err
}

// begin starts an empty copy instead of a served one, or of one being built,
// and returns its id. Nothing is in it yet, so whoever finds it may load it.
func (a *Applier) begin(ctx context.Context, cfg Config, instead, reason string) (id string, err error) {
	fresh := State{
		Generation: Generation{Game: cfg.Game, Form: cfg.Form(), ID: rand.Text()[:8]},
		Stamp:      rand.Text(), Loading: true, At: a.now(),
		Progress: Progress{Mark: Watermark{Epoch: a.ledger.Epoch()}},
	}
	a.log.InfoContext(ctx, "leaderboard build started", "game", cfg.Game, "form", fresh.Form, "reason", reason, "instead_of", instead)
	a.metrics.builds.WithLabelValues(cfg.Game, reason).Inc()
	return fresh.ID, a.store.Begin(ctx, cfg, fresh, instead)
}

// follow applies to a loaded copy the rows that came since. Within a page of the
// ledger's end it has the boards that readers see hold still, so that the copy
// lacks nothing of theirs when it is read instead of them.
func (a *Applier) follow(ctx context.Context, cfg Config, s State) error {
	for {
		if err := a.renew(ctx, buildDuty(cfg), buildLease); err != nil {
			return err
		}
		more, err := a.advance(ctx, cfg, s)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if s, err = a.store.Building(ctx, cfg.Game, cfg.Form()); err != nil {
			return err
		}
	}
	seen, err := a.seen(ctx, cfg)
	if err != nil {
		return err
	}
	return a.alone(ctx, seen, func() error { return a.swap(ctx, cfg) }, nil)
}

// advance applies the next rows to a copy that is being built, and reports
// whether there may be more. ErrStale: it is not one to apply rows to any more.
func (a *Applier) advance(ctx context.Context, cfg Config, s State) (more bool, err error) {
	if s.Stamp == "" || s.Loading {
		return false, ErrStale
	}
	rows, holds, err := a.above(ctx, cfg.Game, s.Mark)
	if err == nil && !holds {
		err = ErrStale
	}
	if err != nil {
		return false, err
	}
	// No day is being taken out of it, so no row waits.
	err = a.apply(ctx, cfg, s, rows)
	if errors.Is(err, errTorn) { // it does not get better
		if _, err := a.begin(ctx, cfg, s.ID, copyLost); err != nil {
			return false, err
		}
		return false, ErrStale
	}
	return len(rows) == pageRows, err
}

// swap has the copy read that is being built, unless there are too many rows
// by now that it lacks.
func (a *Applier) swap(ctx context.Context, cfg Config) error {
	s, err := a.store.Building(ctx, cfg.Game, cfg.Form())
	if err != nil {
		return err
	}
	if more, err := a.advance(ctx, cfg, s); err != nil || more {
		return err
	}
	return a.store.Publish(ctx, s)
}

func buildDuty(cfg Config) Duty { return Duty{Game: cfg.Game, Form: cfg.Form(), Name: "build"} }
