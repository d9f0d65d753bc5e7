package leaderboard

import (
	"context"
	"maps"
	"slices"
)

// expectedSizes counts the entries and ranking members that each board should have.
type expectedSizes struct {
	cfg   Config
	reach coverage
	sizes map[Board]*size
}

// boardSize is the number of entries on a board, and the number of members per ranking.
type size struct {
	entries int64
	ranked  map[Order]int64
}

// compareSizes compares the sizes of all boards and rankings with the expected ones. So it
// also finds entries whose holders are not in the ledger.
func (v *verification) compareSizes(ctx context.Context) error {
	now, err := v.inspect(ctx, nil)
	if err != nil {
		return err
	}
	var boards []Board
	for _, kind := range Kinds() {
		boards = append(boards, v.cfg.coverage(now.Progress).boards(kind)...)
	}
	inspection, err := v.inspect(ctx, requestAll(boards, nil))
	if err != nil {
		return err
	}
	expected, err := v.countExpected(ctx, inspection.Progress)
	if err != nil {
		return err
	}
	for i, b := range boards {
		if expected.reach.covers(b) {
			v.result.Boards++
			v.compareSize(b, expected.sizeOf(b), inspection.Boards[i])
		}
	}
	return nil
}

func (v *verification) compareSize(b Board, want *size, have Inspected) {
	compare := func(field string, expected, actual int64) {
		if expected != actual {
			v.addDifference(Difference{Board: b, Field: field, Want: decimal(expected), Have: decimal(actual)})
		}
	}
	compare("entries", want.entries, have.Size)
	for _, o := range v.cfg.Rankings() {
		compare("ranked by "+string(o), want.ranked[o], have.Ranked[o])
	}
}

// countExpectedSizes counts the entries that each board should have at the watermark of
// progress. The snapshot of the ledger may have later rows. For the holders of these
// rows, it replaces the counts by those at the watermark.
func (v *verification) countExpected(ctx context.Context, p Progress) (*expectedSizes, error) {
	expected := &expectedSizes{cfg: v.cfg, reach: v.cfg.coverage(p), sizes: map[Board]*size{}}
	var ledgerPos int64
	err := v.ledger.Snapshot(ctx, v.cfg.Game, func(s Snapshot) error {
		ledgerPos = s.Mark.Pos
		for sums, err := range byHolder(s.Sums) {
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
	if ledgerPos < p.Mark.Pos {
		return nil, ErrNotReady // the ledger was rolled back
	}
	since, err := v.changedHolders(ctx, p.Mark.Pos, ledgerPos)
	if err != nil {
		return nil, err
	}
	for kind, holders := range since {
		if err := v.recount(ctx, expected, kind, slices.Sorted(maps.Keys(holders)), [2]int64{p.Mark.Pos, ledgerPos}); err != nil {
			return nil, err
		}
	}
	return expected, nil
}

// changedHolders returns the holders that can be on other boards or rankings because of
// the rows after one position up to another.
func (v *verification) changedHolders(ctx context.Context, after, upTo int64) (map[Kind]map[string]bool, error) {
	touched := map[Kind]map[string]bool{Players: {}, Teams: {}}
	for after < upTo {
		rows, err := v.ledger.ReadRows(ctx, v.cfg.Game, after, pageRows)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, ErrNotReady // the ledger was rolled back
		}
		for _, r := range rows {
			if r.Pos <= upTo && r.Kind != DayStartRow && r.Kind != MoveRow { // a move changes no size
				touched[r.HolderKind][r.Holder] = true
			}
		}
		after = rows[len(rows)-1].Pos
	}
	return touched, nil
}

// recount adds the counts of holders at positions[0] and subtracts those at positions[1].
func (v *verification) recount(ctx context.Context, expected *expectedSizes, kind Kind, holders []string, positions [2]int64) error {
	for chunk := range slices.Chunk(holders, verifyPage) {
		for i, sign := range []int64{1, -1} {
			sums, err := v.sums(ctx, positions[i], kind, chunk)
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
func (t *expectedSizes) add(sums []Sum, sign int64) {
	for _, p := range t.reach.postings(sums) {
		boardSize := t.sizeOf(p.board)
		boardSize.entries += sign
		for _, o := range t.cfg.Rankings() {
			if Rankable(o, p.entry.Aggregates, t.cfg.MinAnswers) {
				boardSize.ranked[o] += sign
			}
		}
	}
}

func (t *expectedSizes) sizeOf(b Board) *size {
	if t.sizes[b] == nil {
		t.sizes[b] = &size{ranked: map[Order]int64{}}
	}
	return t.sizes[b]
}
