package leaderboard

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"laststand/internal/timer"
)

const (
	verifyInterval       = 10 * time.Minute // minimum time between the starts of two verifications
	verifyPageInterval   = time.Second      // pause before each page of holders
	maxLoggedDifferences = 20               // per verification
)

// verifier compares the served boards of one game with the ledger.
type verifier struct {
	*resources
	builder *builder
}

// run verifies the boards at intervals until ctx ends. One node at a time does this.
func (v *verifier) run(ctx context.Context) {
	timer.Every(ctx, verifyInterval, func(ctx context.Context) { v.logError(ctx, "verify", v.verifyInBackground(ctx)) })
}

// verifyInBackground verifies the boards once. It counts and logs differences. If there are
// any, it requests a build. It returns nil if another node is verifying, or if other boards
// are served by the end.
func (v *verifier) verifyInBackground(ctx context.Context) error {
	logged := 0
	result, err := v.verify(ctx, func(difference Difference) {
		v.metrics.differences.Inc()
		if logged++; logged <= maxLoggedDifferences {
			v.log.LogAttrs(ctx, slog.LevelError, "leaderboard differs from ledger",
				slog.String("kind", string(difference.Kind)), slog.String("board", difference.Span), slog.String("holder", difference.Holder),
				slog.String("field", difference.Field), slog.String("want", difference.Want), slog.String("have", difference.Have))
		}
	}, func() error {
		timer.Sleep(ctx, verifyPageInterval)
		return errors.Join(ctx.Err(), v.renewLease(ctx, v.verifyLease))
	})
	if err == nil {
		v.metrics.lastVerification.Set(float64(v.now()) / 1000)
		if result.Differences > 0 {
			err = v.builder.request(ctx, reasonDifferences)
		}
	}
	return ignore(errors.Join(err, v.releaseLease(ctx, v.verifyLease)), ErrNotReady)
}

// verify does the work of Applier.Verify. It calls beforePage before each page of holders,
// and stops at its first error. If beforePage returns ErrStale, verify returns ErrNotReady.
func (v *verifier) verify(ctx context.Context, report func(Difference), beforePage func() error) (VerifyResult, error) {
	served, err := v.newestState(ctx)
	if err != nil {
		return VerifyResult{}, err
	}
	if served.Version == "" || served.Watermark.Epoch != v.ledger.Epoch() {
		return VerifyResult{}, ErrNotReady
	}
	if _, hasMarkRow, err := v.rowsAfter(ctx, served.Watermark, 0); err != nil || !hasMarkRow {
		return VerifyResult{}, cmp.Or(err, ErrNotReady) // the ledger was rolled back
	}
	run := &comparison{resources: v.resources, boardSet: served.BoardSet, report: report}
	err = run.compareAll(ctx, served.Progress, beforePage)
	if errors.Is(err, ErrStale) { // the board set was lost or is corrupt
		err = ErrNotReady
	}
	return run.result, err
}
