package leaderboard

import (
	"context"
	"maps"
	"slices"
)

// expectedSizes counts the entries and ranking members that each board should have.
type expectedSizes struct {
	cfg      Config
	coverage coverage
	sizes    map[Board]*boardSize
}

// boardSize is the number of entries on a board, and the number of members per ranking.
type boardSize struct {
	entries int64
	ranked  map[Order]int64
}

// compareSizes compares the sizes of all boards and rankings with the expected ones. So it
// also finds entries whose holders are not in the ledger.
func (v *verification) compareSizes(ctx context.Context) error {
	current, err := v.inspect(ctx, nil)
	if err != nil {
		return err
	}
	var boards []Board
	for _, kind := range Kinds() {
		boards = append(boards, v.cfg.coverage(current.Progress).boards(kind)...)
	}
	inspection, err := v.inspect(ctx, requestEntries(boards, nil))
	if err != nil {
		return err
	}
	expected, err := v.countExpectedSizes(ctx, inspection.Progress)
	if err != nil {
		return err
	}
	for i, board := range boards {
		if expected.coverage.covers(board) {
			v.result.Boards++
			v.compareSize(board, expected.boardSize(board), inspection.Boards[i])
		}
	}
	return nil
}

func (v *verification) compareSize(board Board, want *boardSize, have InspectedBoard) {
	compare := func(field string, expected, actual int64) {
		if expected != actual {
			v.addDifference(Difference{Board: board, Field: field, Want: decimal(expected), Have: decimal(actual)})
		}
	}
	compare("entries", want.entries, have.BoardSize)
	for _, order := range v.cfg.RankingOrders() {
		compare("ranked by "+string(order), want.ranked[order], have.RankedCounts[order])
	}
}

// countExpectedSizes counts the entries that each board should have at the watermark of
// progress. The snapshot of the ledger may have later rows. For the holders of these
// rows, it replaces the counts by those at the watermark.
func (v *verification) countExpectedSizes(ctx context.Context, progress Progress) (*expectedSizes, error) {
	expected := &expectedSizes{cfg: v.cfg, coverage: v.cfg.coverage(progress), sizes: map[Board]*boardSize{}}
	var ledgerPos int64
	err := v.ledger.Snapshot(ctx, v.cfg.Game, func(snapshot Snapshot) error {
		ledgerPos = snapshot.Watermark.Pos
		for sums, err := range groupByHolder(snapshot.Sums) {
			if err != nil {
				return err
			}
			expected.add(sums, 1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if ledgerPos < progress.Watermark.Pos {
		return nil, ErrNotReady // the ledger was rolled back
	}
	changed, err := v.changedHolders(ctx, progress.Watermark.Pos, ledgerPos)
	if err != nil {
		return nil, err
	}
	for kind, holders := range changed {
		if err := v.recount(ctx, expected, kind, slices.Sorted(maps.Keys(holders)), [2]int64{progress.Watermark.Pos, ledgerPos}); err != nil {
			return nil, err
		}
	}
	return expected, nil
}

// changedHolders returns the holders that can be on other boards or rankings because of
// the rows after one position up to another.
func (v *verification) changedHolders(ctx context.Context, after, upTo int64) (map[Kind]map[string]bool, error) {
	holders := map[Kind]map[string]bool{Players: {}, Teams: {}}
	for after < upTo {
		rows, err := v.ledger.ReadRows(ctx, v.cfg.Game, after, rowsPerRead)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, ErrNotReady // the ledger was rolled back
		}
		for _, row := range rows {
			if row.Pos <= upTo && row.Kind != DayStartRow && row.Kind != MoveRow { // a move changes no size
				holders[row.HolderKind][row.Holder] = true
			}
		}
		after = rows[len(rows)-1].Pos
	}
	return holders, nil
}

// recount adds the counts of holders at positions[0] and subtracts those at positions[1].
func (v *verification) recount(ctx context.Context, expected *expectedSizes, kind Kind, holders []string, positions [2]int64) error {
	for chunk := range slices.Chunk(holders, verifyPageHolders) {
		for i, sign := range []int64{1, -1} {
			sums, err := v.readSums(ctx, positions[i], kind, chunk)
			if err != nil {
				return err
			}
			for _, holderSums := range sums {
				expected.add(holderSums, sign)
			}
		}
	}
	return nil
}

// add adds one holder's entries to the counts if sign is 1, or subtracts them if it is -1.
func (e *expectedSizes) add(sums []DaySum, sign int64) {
	for _, sum := range e.coverage.entriesFrom(sums) {
		boardSize := e.boardSize(sum.board)
		boardSize.entries += sign
		for _, order := range e.cfg.RankingOrders() {
			if Rankable(order, sum.entry.Aggregates, e.cfg.MinAnswers) {
				boardSize.ranked[order] += sign
			}
		}
	}
}

func (e *expectedSizes) boardSize(board Board) *boardSize {
	if e.sizes[board] == nil {
		e.sizes[board] = &boardSize{ranked: map[Order]int64{}}
	}
	return e.sizes[board]
}
