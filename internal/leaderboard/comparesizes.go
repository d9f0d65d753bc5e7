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
func (c *comparison) compareSizes(ctx context.Context) error {
	boards := slices.Concat(c.coveredBoards(Players), c.coveredBoards(Teams))
	inspection, err := c.inspect(ctx, boards, nil)
	if err != nil {
		return err
	}
	expected, err := c.countExpectedSizes(ctx, inspection.Progress)
	if err != nil {
		return err
	}
	var differences []Difference
	for i, board := range boards {
		if !expected.coverage.covers(board) {
			continue
		}
		c.result.Boards++
		compare := func(field string, want, have int64) {
			if want != have {
				differences = append(differences, Difference{Board: board, Field: field, Want: decimal(want), Have: decimal(have)})
			}
		}
		want, have := expected.boardSize(board), inspection.Boards[i]
		compare("entries", want.entries, have.BoardSize)
		for _, order := range c.newestConfig.RankingOrders() {
			compare("ranked by "+string(order), want.ranked[order], have.RankedCounts[order])
		}
	}
	return c.reportAll(ctx, inspection.Watermark.Pos, differences)
}

// countExpectedSizes counts the entries that each board should have at the watermark of
// progress. The snapshot of the ledger may have later rows. For the holders of these
// rows, it replaces the counts by those at the watermark.
func (c *comparison) countExpectedSizes(ctx context.Context, progress Progress) (*expectedSizes, error) {
	expected := &expectedSizes{cfg: c.newestConfig, coverage: c.newestConfig.coverage(progress), sizes: map[Board]*boardSize{}}
	pos, ledgerPos := progress.Watermark.Pos, int64(0)
	err := c.ledger.Snapshot(ctx, c.newestConfig.Game, func(snapshot Snapshot) error {
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
	if ledgerPos < pos {
		return nil, ErrNotReady // the ledger was rolled back
	}
	changed, err := c.changedHolders(ctx, pos, ledgerPos)
	if err != nil {
		return nil, err
	}
	for kind, holders := range changed {
		for chunk := range slices.Chunk(slices.Sorted(maps.Keys(holders)), verifyPageHolders) {
			before, err := c.readSums(ctx, pos, kind, chunk)
			if err != nil {
				return nil, err
			}
			after, err := c.readSums(ctx, ledgerPos, kind, chunk)
			if err != nil {
				return nil, err
			}
			for _, id := range chunk {
				expected.add(before[id], 1)
				expected.add(after[id], -1)
			}
		}
	}
	return expected, nil
}

// changedHolders returns the holders that can be on other boards or rankings because of
// the rows after one position up to another.
func (c *comparison) changedHolders(ctx context.Context, after, upTo int64) (map[Kind]map[string]bool, error) {
	holders := map[Kind]map[string]bool{Players: {}, Teams: {}}
	for after < upTo {
		rows, err := c.ledger.ReadRows(ctx, c.newestConfig.Game, after, rowsPerRead)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, ErrNotReady // the ledger was rolled back
		}
		for _, row := range rows {
			if row.Pos <= upTo && row.Kind != DayStartRow && row.Kind != MoveRow { // reportAll knows the moves
				holders[row.HolderKind][row.Holder] = true
			}
		}
		after = rows[len(rows)-1].Pos
	}
	return holders, nil
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
