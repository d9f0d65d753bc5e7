package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

const (
	verifyPage    = 100 // holders compared at a time
	verifyEntries = 300 // entries that are inspected at one moment: some 2 ms of a Redis
)

// Difference is one thing in which a board is not what the ledger says.
type Difference struct {
	Board  Board
	Holder string // empty: of the board as a whole
	What   string // entry, newest, a part or "key by ORDER"; of a board entries or "ranked by ORDER"
	Want   string // by the ledger; empty: nothing
	Have   string // on the board; empty: nothing
}

// Verified says what was compared. Boards are those that were whole at the end,
// Entries the pairs of a holder and a board, Pos is the ledger's that the boards had last applied.
type Verified struct {
	Boards, Entries, Differences int64
	Pos                          int64
}

// Verify compares the served boards with the ledger's rows, entry by entry, each
// at the position that its board had when it was read, so rows may be applied
// meanwhile, and then how many entries they have, at one more moment. It
// reports each difference. A slot of a rolling window is left out while it is in
// work. ErrNotReady: none are served, or others by the end; verify those.
func (a *Applier) Verify(ctx context.Context, game string, report func(Difference)) (Verified, error) {
	cfg, known := a.games[game]
	if !known {
		return Verified{}, fmt.Errorf("verify the leaderboards of %q: no such game", game)
	}
	v, err := a.verify(ctx, cfg, report, ctx.Err)
	if errors.Is(err, ErrStale) {
		err = ErrNotReady
	}
	if err != nil {
		return Verified{}, fmt.Errorf("verify the leaderboards of %q: %w", game, err)
	}
	return v.done, nil
}

// verify calls pace before each page of holders. ErrStale: the copy is not whole
// any more.
func (a *Applier) verify(ctx context.Context, cfg Config, report func(Difference), pace func() error) (*verification, error) {
	served, err := a.store.Served(ctx, cfg.Game, cfg.Form())
	if err != nil {
		return nil, err
	}
	if served.Stamp == "" || served.Mark.Epoch != a.ledger.Epoch() {
		return nil, ErrNotReady
	}
	v := &verification{cfg: cfg, copy: served.Generation, ledger: a.ledger, boards: a.store, report: report}
	for _, whose := range Kinds() {
		if err := v.kind(ctx, whose, pace); err != nil {
			return nil, err
		}
	}
	if err := v.sizes(ctx); err != nil {
		return nil, err
	}
	return v, nil
}

// verification is one pass over a copy.
type verification struct {
	cfg    Config
	copy   Generation
	ledger Ledger
	boards Boards
	report func(Difference)
	done   Verified
}

// kind compares every holder of a kind, page by page.
func (v *verification) kind(ctx context.Context, whose Kind, pace func() error) error {
	for after := ""; ; {
		if err := pace(); err != nil {
			return err
		}
		holders, err := v.ledger.Holders(ctx, v.cfg.Game, whose, after, verifyPage)
		if err != nil || len(holders) == 0 {
			return err
		}
		if err := v.page(ctx, whose, holders); err != nil {
			return err
		}
		after = holders[len(holders)-1]
	}
}

// page compares holders on all boards, a few of those at a moment.
func (v *verification) page(ctx context.Context, whose Kind, holders []string) error {
	now, err := v.inspect(ctx, nil)
	if err != nil {
		return err
	}
	sums, pos := map[string][]Sum(nil), int64(-1)
	for boards := range slices.Chunk(v.cfg.reach(now.Progress).boards(whose), max(1, verifyEntries/len(holders))) {
		seen, err := v.inspect(ctx, wantAll(boards, holders))
		if err != nil {
			return err
		}
		if seen.Mark.Pos != pos {
			pos = seen.Mark.Pos
			if sums, err = v.sums(ctx, pos, whose, holders); err != nil {
				return err
			}
		}
		v.entries(boards, holders, seen, sums)
	}
	return nil
}

func wantAll(boards []Board, ids []string) []Want {
	wants := make([]Want, len(boards))
	for i, b := range boards {
		wants[i] = Want{Board: b, IDs: ids}
	}
	return wants
}

func (v *verification) inspect(ctx context.Context, wants []Want) (Inspection, error) {
	seen, err := v.boards.Inspect(ctx, v.copy, v.cfg.Rankings(), wants)
	if err != nil {
		return Inspection{}, err
	}
	v.done.Pos = seen.Mark.Pos
	return seen, nil
}

// sums returns what holders have from the rows up to a position.
func (v *verification) sums(ctx context.Context, upTo int64, whose Kind, holders []string) (map[string][]Sum, error) {
	all, err := v.ledger.SumsOf(ctx, v.cfg.Game, upTo, whose, holders)
	if err != nil {
		return nil, err
	}
	sums := map[string][]Sum{}
	for _, s := range all {
		sums[s.Holder] = append(sums[s.Holder], s)
	}
	return sums, nil
}

// entries compares what boards had of holders with their sums at that moment.
func (v *verification) entries(boards []Board, holders []string, seen Inspection, sums map[string][]Sum) {
	reach := v.cfg.reach(seen.Progress)
	want := map[Board]map[string]Held{}
	for _, b := range boards {
		want[b] = map[string]Held{}
	}
	for _, of := range sums {
		for _, p := range reach.postings(of) {
			if want[p.board] != nil {
				want[p.board][p.entry.ID] = p.entry
			}
		}
	}
	for i, b := range boards {
		if reach.has(b) { // not in work since, or gone
			v.board(b, holders, want[b], seen.Boards[i])
		}
	}
}

func (v *verification) differ(d Difference) {
	v.done.Differences++
	v.report(d)
}
