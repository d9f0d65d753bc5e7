package leaderboard

import (
	"context"
	"maps"
	"slices"
)

// tally counts what each board should have.
type tally struct {
	cfg   Config
	reach reach
	sizes map[Board]*size
}

// size is how many entries a board has, and how many of them each ranking.
type size struct {
	entries int64
	ranked  map[Order]int64
}

// sizes compares how many entries and members each board has with what there
// should be: what is there besides the ledger's holders shows in these alone.
func (v *verification) sizes(ctx context.Context) error {
	now, err := v.inspect(ctx, nil)
	if err != nil {
		return err
	}
	var boards []Board
	for _, whose := range Kinds() {
		boards = append(boards, v.cfg.reach(now.Progress).boards(whose)...)
	}
	seen, err := v.inspect(ctx, wantAll(boards, nil))
	if err != nil {
		return err
	}
	should, err := v.count(ctx, seen.Progress)
	if err != nil {
		return err
	}
	for i, b := range boards {
		if should.reach.has(b) {
			v.done.Boards++
			v.size(b, should.of(b), seen.Boards[i])
		}
	}
	return nil
}

func (v *verification) size(b Board, want *size, have Inspected) {
	compare := func(what string, should, is int64) {
		if should != is {
			v.differ(Difference{Board: b, What: what, Want: decimal(should), Have: decimal(is)})
		}
	}
	compare("entries", want.entries, have.Entries)
	for _, o := range v.cfg.Rankings() {
		compare("ranked by "+string(o), want.ranked[o], have.Ranked[o])
	}
}

// count reckons what each board should have at p. The ledger may be a little
// further when it is read: whose rows came since are counted as they were.
func (v *verification) count(ctx context.Context, p Progress) (*tally, error) {
	t := &tally{cfg: v.cfg, reach: v.cfg.reach(p), sizes: map[Board]*size{}}
	var at int64
	err := v.ledger.Snapshot(ctx, v.cfg.Game, func(s Snapshot) error {
		at = s.Mark.Pos
		for sums, err := range byHolder(s.Sums) {
			if err != nil {
				return err
			}
			t.add(sums, 1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if at < p.Mark.Pos {
		return nil, ErrNotReady // the ledger was rolled back
	}
	since, err := v.touched(ctx, p.Mark.Pos, at)
	if err != nil {
		return nil, err
	}
	for whose, holders := range since {
		if err := v.recount(ctx, t, whose, slices.Sorted(maps.Keys(holders)), [2]int64{p.Mark.Pos, at}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// touched names whose entries the rows after a position change, up to another.
func (v *verification) touched(ctx context.Context, after, upTo int64) (map[Kind]map[string]bool, error) {
	touched := map[Kind]map[string]bool{Players: {}, Teams: {}}
	for after < upTo {
		rows, err := v.ledger.Rows(ctx, v.cfg.Game, after, pageRows)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, ErrNotReady // the ledger was rolled back
		}
		for _, r := range rows {
			if r.Pos <= upTo && r.Kind != TurnRow && r.Kind != MoveRow { // a move changes no size
				touched[r.Whose][r.Holder] = true
			}
		}
		after = rows[len(rows)-1].Pos
	}
	return touched, nil
}

// recount has holders counted as they were at the first of two positions
// instead of the second.
func (v *verification) recount(ctx context.Context, t *tally, whose Kind, holders []string, at [2]int64) error {
	for some := range slices.Chunk(holders, verifyPage) {
		for i, sign := range []int64{1, -1} {
			sums, err := v.sums(ctx, at[i], whose, some)
			if err != nil {
				return err
			}
			for _, of := range sums {
				t.add(of, sign)
			}
		}
	}
	return nil
}

// add counts one holder, or with -1 takes it out again.
func (t *tally) add(sums []Sum, sign int64) {
	for _, p := range t.reach.postings(sums) {
		size := t.of(p.board)
		size.entries += sign
		for _, o := range t.cfg.Rankings() {
			if Rankable(o, p.entry.Parts, t.cfg.MinAnswers) {
				size.ranked[o] += sign
			}
		}
	}
}

func (t *tally) of(b Board) *size {
	if t.sizes[b] == nil {
		t.sizes[b] = &size{ranked: map[Order]int64{}}
	}
	return t.sizes[b]
}
