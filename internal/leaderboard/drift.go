package leaderboard

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	driftInterval        = 10 * time.Minute // minimum time between the starts of two verifications
	driftPageInterval    = time.Second      // pause before each page of holders
	driftLease           = time.Minute      // renewed before every page
	maxLoggedDifferences = 20               // per verification
)

// errOtherNodeVerifies means that another node has the lease for the verification.
var errOtherNode = errors.New("another node is verifying the boards")

// verifyPeriodically compares a game's boards with the ledger, at intervals, until ctx
// ends. One node at a time does this.
func (a *Applier) checkPeriodically(ctx context.Context, game string) {
	ticker := time.NewTicker(driftInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.logError(ctx, game, "verify", a.checkDrift(ctx, a.games[game]))
		}
	}
}

// verifyServedBoards compares all served boards with the ledger once. It counts and logs
// differences. If there are any, it requests a rebuild. It returns nil if another node is
// verifying, or if other boards are served by the end.
func (a *Applier) checkDrift(ctx context.Context, cfg Config) error {
	duty := Duty{Game: cfg.Game, ConfigHash: cfg.Hash(), Name: "verify"}
	renew := func() error {
		mine, err := a.store.AcquireLease(ctx, duty, a.holderID, driftLease)
		if err == nil && !mine {
			return errOtherNode
		}
		return err
	}
	if err := renew(); err != nil {
		return ignore(err, errOtherNode)
	}
	v, err := a.verify(ctx, cfg, a.recordDifference(ctx, cfg), func() error {
		sleep(ctx, driftPageInterval)
		return errors.Join(ctx.Err(), renew())
	})
	released := a.store.ReleaseLease(context.WithoutCancel(ctx), duty, a.holderID)
	if err != nil {
		return ignore(err, errOtherNode, ErrStale, ErrNotReady) // other boards are served or will be
	}
	a.metrics.verified.WithLabelValues(cfg.Game).Set(float64(a.now()) / 1000)
	if v.result.Differences > 0 {
		return errors.Join(released, a.requestBuild(ctx, cfg, v.generation.ID, drifted))
	}
	return released
}

// recordDifference returns a function that counts each difference and logs the first
// maxLoggedDifferences.
func (a *Applier) recordDifference(ctx context.Context, cfg Config) func(Difference) {
	logged := 0
	return func(d Difference) {
		a.metrics.drift.WithLabelValues(cfg.Game).Inc()
		if logged++; logged > maxLoggedDifferences {
			return
		}
		a.log.LogAttrs(ctx, slog.LevelError, "leaderboard differs from ledger", slog.String("game", cfg.Game),
			slog.String("kind", string(d.Board.Kind)), slog.String("board", d.Board.Span), slog.String("holder", d.Holder),
			slog.String("field", d.Field), slog.String("want", d.Want), slog.String("have", d.Have))
	}
}

// ignore returns nil if err is one of ignored.
func ignore(err error, ignored ...error) error {
	for _, e := range ignored {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}
