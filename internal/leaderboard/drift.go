package leaderboard

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	driftEvery = 10 * time.Minute // between the beginnings of two checks, at the least
	driftPace  = time.Second      // for each page of holders
	driftLease = time.Minute      // kept by every page
	driftShown = 20               // differences of a check that are logged
)

// errOther means that another node is at the check.
var errOther = errors.New("another node checks the boards")

// watch checks a game's boards against the ledger, slowly, over and over until
// ctx ends. Of all nodes one at a time does.
func (a *Applier) watch(ctx context.Context, game string) {
	again := time.NewTicker(driftEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			a.report(ctx, game, "verify", a.check(ctx, a.games[game]))
		}
	}
}

// check goes over the boards once. Differences are counted and logged, and ask
// for a rebuild.
func (a *Applier) check(ctx context.Context, cfg Config) error {
	duty := Duty{Game: cfg.Game, Form: cfg.Form(), Name: "verify"}
	at := func() error {
		mine, err := a.store.Lease(ctx, duty, a.id, driftLease)
		if err == nil && !mine {
			return errOther
		}
		return err
	}
	if err := at(); err != nil {
		return ignore(err, errOther)
	}
	v, err := a.verify(ctx, cfg, a.drift(ctx, cfg), func() error {
		rest(ctx, driftPace)
		return errors.Join(ctx.Err(), at())
	})
	released := a.store.Release(context.WithoutCancel(ctx), duty, a.id)
	if err != nil {
		return ignore(err, errOther, ErrStale, ErrNotReady) // other boards are read by now, or will be
	}
	a.metrics.verified.WithLabelValues(cfg.Game).Set(float64(a.now()) / 1000)
	if v.done.Differences > 0 {
		return errors.Join(released, a.ask(ctx, cfg, v.copy.ID, drifted))
	}
	return released
}

// drift counts differences, and logs the first of them.
func (a *Applier) drift(ctx context.Context, cfg Config) func(Difference) {
	shown := 0
	return func(d Difference) {
		a.metrics.drift.WithLabelValues(cfg.Game).Inc()
		if shown++; shown > driftShown {
			return
		}
		a.log.LogAttrs(ctx, slog.LevelError, "a leaderboard is not what the ledger says", slog.String("game", cfg.Game),
			slog.String("kind", string(d.Board.Kind)), slog.String("board", d.Board.Span), slog.String("holder", d.Holder),
			slog.String("what", d.What), slog.String("want", d.Want), slog.String("have", d.Have))
	}
}

// ignore returns nil for an error that is one of some.
func ignore(err error, some ...error) error {
	for _, e := range some {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}
