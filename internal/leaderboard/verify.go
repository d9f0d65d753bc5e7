package leaderboard

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"laststand/internal/loop"
)

const (
	verifyInterval       = 10 * time.Minute // minimum time between the starts of two verifications
	verifyPageInterval   = time.Second      // pause before each page of holders
	verifyLeaseTTL       = time.Minute      // renewed before every page
	maxLoggedDifferences = 20               // per verification
)

// errOtherNodeVerifies means that another node has the lease for the verification.
var errOtherNodeVerifies = errors.New("another node is verifying the boards")

// Difference is one difference between a board and the ledger.
type Difference struct {
	Board  Board
	Holder string // id; empty: the difference concerns the whole board
	Field  string // of an entry: "entry", "newest", an aggregate or "key by ORDER"; of a board: "entries" or "ranked by ORDER"
	Want   string // value according to the ledger; empty: no value
	Have   string // value on the board; empty: no value
}

// VerifyResult counts what Verify compared: Boards whose sizes were compared, and Entries,
// each a pair of a holder and a board. Pos is the ledger position of the boards at the
// end.
type VerifyResult struct {
	Boards, Entries, Differences int64
	Pos                          int64
}

// verifier compares the served boards of one game with the ledger.
type verifier struct {
	*resources
	builder *builder
}

// run verifies the boards at intervals until ctx ends. One node at a time does this.
func (v *verifier) run(ctx context.Context) {
	loop.Every(ctx, verifyInterval, func(ctx context.Context) { v.logError(ctx, "verify", v.verifyInBackground(ctx)) })
}

// verifyInBackground verifies the boards once. It counts and logs differences. If there are
// any, it requests a build. It returns nil if another node is verifying, or if other boards
// are served by the end.
func (v *verifier) verifyInBackground(ctx context.Context) error {
	leaseID := LeaseID{Game: v.newestConfig.Game, ConfigHash: v.newestConfig.Hash(), Work: "verify"}
	renewLease := func() error {
		err := v.renewLease(ctx, leaseID, verifyLeaseTTL)
		if errors.Is(err, ErrStale) {
			return errOtherNodeVerifies
		}
		return err
	}
	err := renewLease()
	if err == nil {
		err = v.verifyAndRepair(ctx, func() error {
			loop.Sleep(ctx, verifyPageInterval)
			return errors.Join(ctx.Err(), renewLease())
		})
		err = errors.Join(err, v.store.ReleaseLease(context.WithoutCancel(ctx), leaseID, v.holderID))
	}
	if errors.Is(err, errOtherNodeVerifies) || errors.Is(err, ErrNotReady) {
		return nil
	}
	return err
}

func (v *verifier) verifyAndRepair(ctx context.Context, beforePage func() error) error {
	logged := 0
	result, err := v.verify(ctx, func(difference Difference) {
		v.metrics.differences.Inc()
		if logged++; logged > maxLoggedDifferences {
			return
		}
		v.log.LogAttrs(ctx, slog.LevelError, "leaderboard differs from ledger",
			slog.String("kind", string(difference.Board.Kind)), slog.String("board", difference.Board.Span), slog.String("holder", difference.Holder),
			slog.String("field", difference.Field), slog.String("want", difference.Want), slog.String("have", difference.Have))
	}, beforePage)
	if err != nil {
		return err
	}
	v.metrics.lastVerification.Set(float64(v.now()) / 1000)
	if result.Differences == 0 {
		return nil
	}
	return v.builder.request(ctx, reasonDifferences)
}

// verify does the work of Applier.Verify. It calls beforePage before each page of holders,
// and stops at its first error.
func (v *verifier) verify(ctx context.Context, report func(Difference), beforePage func() error) (VerifyResult, error) {
	served, err := v.newestState(ctx)
	if err != nil {
		return VerifyResult{}, err
	}
	if served.Version == "" || served.Watermark.Epoch != v.ledger.Epoch() {
		return VerifyResult{}, ErrNotReady
	}
	run := &comparison{resources: v.resources, boardSet: served.BoardSet, progress: served.Progress, report: report}
	for _, kind := range Kinds() {
		if err == nil {
			err = run.compareKind(ctx, kind, beforePage)
		}
	}
	if err == nil {
		err = run.compareSizes(ctx)
	}
	if errors.Is(err, ErrStale) { // the board set was lost or is corrupt
		err = ErrNotReady
	}
	return run.result, err
}

// comparison is one comparison of a board set with the ledger.
type comparison struct {
	*resources
	boardSet BoardSet
	progress Progress // at the last inspection
	report   func(Difference)
	result   VerifyResult
}

// coveredBoards returns the boards of a kind that hold only whole days.
func (c *comparison) coveredBoards(kind Kind) []Board {
	return c.newestConfig.coverage(c.progress).boards(kind)
}

// inspect reads the boards. It requests the entries of ids on each board.
func (c *comparison) inspect(ctx context.Context, boards []Board, ids []string) (Inspection, error) {
	requests := make([]EntryRequest, len(boards))
	for i, board := range boards {
		requests[i] = EntryRequest{Board: board, IDs: ids}
	}
	inspection, err := c.store.Inspect(ctx, c.boardSet, c.newestConfig.RankingOrders(), requests)
	if err == nil {
		c.progress, c.result.Pos = inspection.Progress, inspection.Watermark.Pos
	}
	return inspection, err
}

// readSums returns the holders' sums up to a ledger position, by holder.
func (c *comparison) readSums(ctx context.Context, upTo int64, kind Kind, holders []string) (map[string][]DaySum, error) {
	rows, err := c.ledger.ReadSums(ctx, c.newestConfig.Game, upTo, kind, holders)
	sums := map[string][]DaySum{}
	for _, row := range rows {
		sums[row.Holder] = append(sums[row.Holder], row)
	}
	return sums, err
}

// reportAll reports differences at a ledger position, after the ledger was read. It leaves
// out those that an erasure explains: the ledger has other ids than the boards until the
// boards have applied its moves.
func (c *comparison) reportAll(ctx context.Context, pos int64, differences []Difference) error {
	if len(differences) == 0 {
		return nil
	}
	moving, err := c.ledger.ReadMovingPlayers(ctx, c.newestConfig.Game, pos)
	if err != nil {
		return err
	}
	for _, difference := range differences {
		isWholeBoard := difference.Holder == ""
		if difference.Board.Kind == Players && (isWholeBoard && len(moving) > 0 || slices.Contains(moving, difference.Holder)) {
			continue
		}
		c.result.Differences++
		c.report(difference)
	}
	return nil
}
