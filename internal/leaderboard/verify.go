package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

const (
	verifyPageHolders = 100 // maximum number of holders per page
	verifyReadEntries = 300 // entries per call of Inspect, which takes about 2 ms of Redis time
)

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

// Verify compares the served boards with the ledger's rows, first entry by entry, then the
// sizes of all boards. It compares each board at the ledger position that the board had
// when it was read, so rows may be applied during the call. It calls report with each
// difference. It skips a rolling board with an unfinished eviction. ErrNotReady means that
// no boards are served, or that other boards are served by the end.
func (a *Applier) Verify(ctx context.Context, game string, report func(Difference)) (VerifyResult, error) {
	cfg, known := a.games[game]
	if !known {
		return VerifyResult{}, fmt.Errorf("verify the leaderboards of %q: no such game", game)
	}
	verification, err := a.verify(ctx, cfg, report, ctx.Err)
	if errors.Is(err, ErrStale) {
		err = ErrNotReady
	}
	if err != nil {
		return VerifyResult{}, fmt.Errorf("verify the leaderboards of %q: %w", game, err)
	}
	return verification.result, nil
}

// verify does the work of Verify. It calls beforePage before each page of holders, and
// stops at its first error. ErrStale means that the board set was lost or is corrupt.
func (a *Applier) verify(ctx context.Context, cfg Config, report func(Difference), beforePage func() error) (*verification, error) {
	served, err := a.store.ServedState(ctx, cfg.Game, cfg.Hash())
	if err != nil {
		return nil, err
	}
	if served.Version == "" || served.Watermark.Epoch != a.ledger.Epoch() {
		return nil, ErrNotReady
	}
	check := &verification{cfg: cfg, boardSet: served.BoardSet, ledger: a.ledger, boards: a.store, report: report}
	for _, kind := range Kinds() {
		if err := check.compareKind(ctx, kind, beforePage); err != nil {
			return nil, err
		}
	}
	if err := check.compareSizes(ctx); err != nil {
		return nil, err
	}
	return check, nil
}

// verification is one comparison of a board set with the ledger.
type verification struct {
	cfg      Config
	boardSet BoardSet
	ledger   Ledger
	boards   EntryStore
	report   func(Difference)
	result   VerifyResult
}

// compareKind compares the entries of all holders of a kind, page by page.
func (v *verification) compareKind(ctx context.Context, kind Kind, beforePage func() error) error {
	for after := ""; ; {
		if err := beforePage(); err != nil {
			return err
		}
		holders, err := v.ledger.ReadHolders(ctx, v.cfg.Game, kind, after, verifyPageHolders)
		if err != nil || len(holders) == 0 {
			return err
		}
		if err := v.comparePage(ctx, kind, holders); err != nil {
			return err
		}
		after = holders[len(holders)-1]
	}
}

// comparePage compares the entries of a page of holders on all boards. It reads a few
// boards at a time.
func (v *verification) comparePage(ctx context.Context, kind Kind, holders []string) error {
	current, err := v.inspect(ctx, nil)
	if err != nil {
		return err
	}
	sums, sumsPos := map[string][]DaySum(nil), int64(-1)
	for boards := range slices.Chunk(v.cfg.coverage(current.Progress).boards(kind), max(1, verifyReadEntries/len(holders))) {
		inspection, err := v.inspect(ctx, requestEntries(boards, holders))
		if err != nil {
			return err
		}
		if inspection.Watermark.Pos != sumsPos {
			sumsPos = inspection.Watermark.Pos
			if sums, err = v.readSums(ctx, sumsPos, kind, holders); err != nil {
				return err
			}
		}
		v.compareEntries(boards, holders, inspection, sums)
	}
	return nil
}

func requestEntries(boards []Board, ids []string) []EntryRequest {
	requests := make([]EntryRequest, len(boards))
	for i, board := range boards {
		requests[i] = EntryRequest{Board: board, IDs: ids}
	}
	return requests
}

func (v *verification) inspect(ctx context.Context, requests []EntryRequest) (Inspection, error) {
	inspection, err := v.boards.Inspect(ctx, v.boardSet, v.cfg.RankingOrders(), requests)
	if err != nil {
		return Inspection{}, err
	}
	v.result.Pos = inspection.Watermark.Pos
	return inspection, nil
}

// readSums returns the holders' sums up to a ledger position, by holder.
func (v *verification) readSums(ctx context.Context, upTo int64, kind Kind, holders []string) (map[string][]DaySum, error) {
	rows, err := v.ledger.ReadSums(ctx, v.cfg.Game, upTo, kind, holders)
	if err != nil {
		return nil, err
	}
	sums := map[string][]DaySum{}
	for _, row := range rows {
		sums[row.Holder] = append(sums[row.Holder], row)
	}
	return sums, nil
}

// compareEntries compares entries of boards with the holders' sums at the same position.
func (v *verification) compareEntries(boards []Board, holders []string, inspection Inspection, sums map[string][]DaySum) {
	coverage := v.cfg.coverage(inspection.Progress)
	expected := map[Board]map[string]BoardEntry{}
	for _, board := range boards {
		expected[board] = map[string]BoardEntry{}
	}
	for _, sums := range sums {
		for _, entry := range coverage.entriesFrom(sums) {
			if expected[entry.board] != nil {
				expected[entry.board][entry.entry.ID] = entry.entry
			}
		}
	}
	for i, board := range boards {
		if coverage.covers(board) { // since the first read, no eviction has begun and the board was not deleted
			v.compareBoard(board, holders, expected[board], inspection.Boards[i])
		}
	}
}

func (v *verification) addDifference(difference Difference) {
	v.result.Differences++
	v.report(difference)
}
