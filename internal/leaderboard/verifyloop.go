package leaderboard

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	verifyInterval       = 10 * time.Minute // minimum time between the starts of two verifications
	verifyPageInterval   = time.Second      // pause before each page of holders
	verifyLeaseTTL       = time.Minute      // renewed before every page
	maxLoggedDifferences = 20               // per verification
)

// errOtherNodeVerifies means that another node has the lease for the verification.
var errOtherNodeVerifies = errors.New("another node is verifying the boards")

// verifyPeriodically compares a game's boards with the ledger, at intervals, until ctx
// ends. One node at a time does this.
func (a *Applier) verifyPeriodically(ctx context.Context, game string) {
	ticker := time.NewTicker(verifyInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.logError(ctx, game, "verify", a.verifyServedBoards(ctx, a.games[game]))
		}
	}
}

// verifyServedBoards compares all served boards with the ledger once. It counts and logs
// differences. If there are any, it requests a rebuild. It returns nil if another node is
// verifying, or if other boards are served by the end.
func (a *Applier) verifyServedBoards(ctx context.Context, cfg Config) error {
	leaseID := LeaseID{Game: cfg.Game, ConfigHash: cfg.Hash(), Work: "verify"}
	renewLease := func() error {
		hasLease, err := a.store.AcquireLease(ctx, leaseID, a.holderID, verifyLeaseTTL)
		if err == nil && !hasLease {
			return errOtherNodeVerifies
		}
		return err
	}
	if err := renewLease(); err != nil {
		return ignore(err, errOtherNodeVerifies)
	}
	verification, err := a.verify(ctx, cfg, a.recordDifference(ctx, cfg), func() error {
		sleep(ctx, verifyPageInterval)
		return errors.Join(ctx.Err(), renewLease())
	})
	releaseErr := a.store.ReleaseLease(context.WithoutCancel(ctx), leaseID, a.holderID)
	if err != nil {
		return ignore(err, errOtherNodeVerifies, ErrStale, ErrNotReady) // other boards are served or will be
	}
	a.metrics.lastVerification.WithLabelValues(cfg.Game).Set(float64(a.now()) / 1000)
	if verification.result.Differences > 0 {
		return errors.Join(releaseErr, a.requestBuild(ctx, cfg, verification.boardSet.ID, reasonDifferences))
	}
	return releaseErr
}

// recordDifference returns a function that counts each difference and logs the first
// maxLoggedDifferences.
func (a *Applier) recordDifference(ctx context.Context, cfg Config) func(Difference) {
	logged := 0
	return func(difference Difference) {
		a.metrics.differences.WithLabelValues(cfg.Game).Inc()
		if logged++; logged > maxLoggedDifferences {
			return
		}
		a.log.LogAttrs(ctx, slog.LevelError, "leaderboard differs from ledger", slog.String("game", cfg.Game),
			slog.String("kind", string(difference.Board.Kind)), slog.String("board", difference.Board.Span), slog.String("holder", difference.Holder),
			slog.String("field", difference.Field), slog.String("want", difference.Want), slog.String("have", difference.Have))
	}
}

// ignore returns nil if err is one of ignored.
func ignore(err error, ignored ...error) error {
	for _, target := range ignored {
		if errors.Is(err, target) {
			return nil
		}
	}
	return err
}
