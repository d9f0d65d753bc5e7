package leaderboard

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

const (
	verifyPageHolders = 100 // maximum number of holders per page
	verifyReadEntries = 300 // entries per call of Inspect, which takes about 2 ms of Redis time
)

// Difference is one difference between a board and the ledger.
type Difference struct {
	Board
	Holder string `json:"id,omitempty"` // id; empty: the difference concerns the whole board
	Field  string `json:"field"`        // of an entry: "entry" or "key by ORDER"; of a board: "entries" or "ranked by ORDER"
	Want   string `json:"ledger"`       // value according to the ledger; empty: no value
	Have   string `json:"leaderboard"`  // value on the board; empty: no value
}

// VerifyResult counts what Verify compared: Boards whose sizes were compared, and Entries,
// each a pair of a holder and a board. Pos is the ledger position of the boards at the
// end.
type VerifyResult struct {
	Boards      int64 `json:"leaderboards"`
	Entries     int64 `json:"entries"`
	Differences int64 `json:"differences"`
	Pos         int64 `json:"position"`
}

// comparison is one comparison of a board set with the ledger.
type comparison struct {
	*resources
	boardSet BoardSet
	report   func(Difference)
	result   VerifyResult

	// The sizes of all boards are compared at one ledger position. So entries whose holders are
	// not in the ledger are found too.
	start         Inspection
	startCoverage coverage          // the boards to compare
	wantSizes     map[SizeKey]int64 // at start, counted from the ledger
	hasErasures   bool              // a player was erased since start, and may be counted by both ids or by none
}

// compareAll reads the sizes of all boards that are covered by progress. Then it compares the
// entries of all holders, page by page, and counts them. At last it compares the sizes with
// the counts.
func (c *comparison) compareAll(ctx context.Context, progress Progress, beforePage func() error) (err error) {
	boards := c.newestConfig.coverage(progress).boards(Kinds()...)
	if c.start, err = c.inspect(ctx, boards, nil); err != nil {
		return err
	}
	c.startCoverage, c.wantSizes = c.newestConfig.coverage(c.start.Progress), map[SizeKey]int64{}
	for _, kind := range Kinds() {
		if err := c.compareKind(ctx, kind, beforePage); err != nil {
			return err
		}
	}
	return c.compareSizes(ctx, boards)
}

// compareKind compares the entries of all holders of a kind, page by page.
func (c *comparison) compareKind(ctx context.Context, kind Kind, beforePage func() error) error {
	for after := ""; ; {
		if err := beforePage(); err != nil {
			return err
		}
		holders, err := c.ledger.ReadHolders(ctx, c.newestConfig.Game, kind, after, verifyPageHolders)
		if err != nil || len(holders) == 0 {
			return err
		}
		if err := c.countEntries(ctx, kind, holders); err != nil {
			return err
		}
		for chunk := range slices.Chunk(c.startCoverage.boards(kind), max(1, verifyReadEntries/len(holders))) {
			if err := c.comparePage(ctx, kind, chunk, holders); err != nil {
				return err
			}
		}
		after = holders[len(holders)-1]
	}
}

// countEntries adds the entries of a page of holders to the expected sizes. It looks for
// erasures at each page, because the ledger forgets them during a long comparison.
func (c *comparison) countEntries(ctx context.Context, kind Kind, holders []string) error {
	entries, err := c.readEntries(ctx, c.start.Watermark.Pos, kind, holders, c.startCoverage)
	if err != nil {
		return err
	}
	for key, entry := range entries {
		c.wantSizes[SizeKey{key.Board, ""}]++
		for order := range c.newestConfig.keys(entry.Aggregates) {
			c.wantSizes[SizeKey{key.Board, order}]++
		}
	}
	moving, err := c.ledger.ReadMovingPlayers(ctx, c.newestConfig.Game, c.start.Watermark.Pos)
	c.hasErasures = c.hasErasures || len(moving) > 0
	return err
}

// comparePage compares the entries of a page of holders on some boards of a kind. It skips
// boards that are no longer covered: an eviction has begun, or the board was deleted.
func (c *comparison) comparePage(ctx context.Context, kind Kind, boards []Board, holders []string) error {
	inspection, err := c.inspect(ctx, boards, holders)
	if err != nil {
		return err
	}
	coverage := c.newestConfig.coverage(inspection.Progress)
	expected, err := c.readEntries(ctx, inspection.Watermark.Pos, kind, holders, coverage)
	if err != nil {
		return err
	}
	var differences []Difference
	for _, board := range boards {
		if !coverage.covers(board) {
			continue
		}
		c.result.Entries += int64(len(holders))
		for _, id := range holders {
			key := EntryKey{board, id}
			differences = append(differences, c.compareEntry(Difference{Board: board, Holder: id}, expected[key].BoardEntry, inspection.Entries[key])...)
		}
	}
	return c.reportAll(ctx, inspection.Watermark.Pos, differences)
}

// inspect reads the boards. It requests the entries of ids on each board.
func (c *comparison) inspect(ctx context.Context, boards []Board, ids []string) (Inspection, error) {
	inspection, err := c.store.Inspect(ctx, c.boardSet, c.newestConfig.RankingOrders(), boards, ids)
	c.result.Pos = inspection.Watermark.Pos
	return inspection, err
}

// readEntries computes the entries of holders on all covered boards at a ledger position.
func (c *comparison) readEntries(ctx context.Context, pos int64, kind Kind, holders []string, covered coverage) (map[EntryKey]datedEntry, error) {
	sums, err := c.ledger.ReadSums(ctx, c.newestConfig.Game, pos, kind, holders)
	entries := map[EntryKey]datedEntry{}
	for _, sum := range sums {
		covered.add(entries, sum)
	}
	return entries, err
}

// compareEntry compares an entry and its keys with the expected ones. The zero BoardEntry
// means that there is no entry. The differences are about the board and holder of place.
func (c *comparison) compareEntry(place Difference, want BoardEntry, have InspectedEntry) (differences []Difference) {
	compare := func(field, expected, actual string) {
		if expected != actual {
			place.Field, place.Want, place.Have = field, expected, actual
			differences = append(differences, place)
		}
	}
	compare("entry", formatEntry(want), formatEntry(have.BoardEntry))
	if want.ID == "" || have.ID == "" {
		return differences
	}
	expected := maps.Collect(c.newestConfig.keys(want.Aggregates))
	for _, order := range c.newestConfig.RankingOrders() {
		compare("key by "+string(order), formatKey(expected, order), formatKey(have.Keys, order))
	}
	return differences
}

func formatEntry(entry BoardEntry) string {
	if entry.ID == "" {
		return ""
	}
	sums, _ := json.Marshal(entry.Aggregates) // numbers always encode
	return fmt.Sprintf("newest %d, %s", entry.Newest, sums)
}

// formatKey formats the key by an order, or returns "" if there is none. Different keys have
// different texts.
func formatKey(keys map[Order]float64, order Order) string {
	key, isRanked := keys[order]
	if !isRanked {
		return ""
	}
	return strconv.FormatFloat(key, 'g', -1, 64)
}

// compareSizes compares the sizes of boards, after all holders were counted.
func (c *comparison) compareSizes(ctx context.Context, boards []Board) error {
	var differences []Difference
	for _, board := range boards {
		if !c.startCoverage.covers(board) {
			continue
		}
		c.result.Boards++
		for _, order := range append([]Order{""}, c.newestConfig.RankingOrders()...) {
			field, key := "entries", SizeKey{board, order}
			if order != "" {
				field = "ranked by " + string(order)
			}
			if want, have := c.wantSizes[key], c.start.Sizes[key]; want != have {
				differences = append(differences, Difference{Board: board, Field: field, Want: strconv.FormatInt(want, 10), Have: strconv.FormatInt(have, 10)})
			}
		}
	}
	return c.reportAll(ctx, c.start.Watermark.Pos, differences)
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
		isExplained := slices.Contains(moving, difference.Holder)
		if difference.Holder == "" { // it concerns the whole board
			isExplained = c.hasErasures || len(moving) > 0
		}
		if difference.Kind == Players && isExplained {
			continue
		}
		c.result.Differences++
		c.report(difference)
	}
	return nil
}
