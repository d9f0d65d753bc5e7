package leaderboard

import (
	"context"
	"fmt"
	"slices"
	"strconv"
)

const (
	verifyPageHolders = 100 // maximum number of holders per page
	verifyReadEntries = 300 // entries per call of Inspect, which takes about 2 ms of Redis time
)

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
		for boards := range slices.Chunk(c.coveredBoards(kind), max(1, verifyReadEntries/len(holders))) {
			if err := c.comparePage(ctx, kind, boards, holders); err != nil {
				return err
			}
		}
		after = holders[len(holders)-1]
	}
}

// comparePage compares the entries of a page of holders on some boards of a kind.
func (c *comparison) comparePage(ctx context.Context, kind Kind, boards []Board, holders []string) error {
	inspection, err := c.inspect(ctx, boards, holders)
	if err != nil {
		return err
	}
	sums, err := c.readSums(ctx, inspection.Watermark.Pos, kind, holders)
	if err != nil {
		return err
	}
	coverage := c.newestConfig.coverage(inspection.Progress)
	expected := map[Board]map[string]BoardEntry{}
	for _, holderSums := range sums {
		for _, entry := range coverage.entriesFrom(holderSums) {
			if expected[entry.board] == nil {
				expected[entry.board] = map[string]BoardEntry{}
			}
			expected[entry.board][entry.entry.ID] = entry.entry
		}
	}
	var differences []Difference
	for i, board := range boards {
		if coverage.covers(board) { // else an eviction has begun or the board was deleted
			c.result.Entries += int64(len(holders))
			differences = append(differences, c.compareBoard(board, holders, expected[board], inspection.Boards[i])...)
		}
	}
	return c.reportAll(ctx, inspection.Watermark.Pos, differences)
}

// compareBoard compares the holders' entries on a board with the expected ones.
func (c *comparison) compareBoard(board Board, holders []string, want map[string]BoardEntry, have InspectedBoard) (differences []Difference) {
	for _, id := range holders {
		expected, isExpected := want[id]
		i := slices.IndexFunc(have.Found, func(entry BoardEntry) bool { return entry.ID == id })
		switch {
		case isExpected && i >= 0:
			differences = append(differences, c.compareEntry(board, expected, have.Found[i], have.Keys[i])...)
		case isExpected:
			differences = append(differences, Difference{Board: board, Holder: id, Field: "entry", Want: formatEntry(expected)})
		case i >= 0:
			differences = append(differences, Difference{Board: board, Holder: id, Field: "entry", Have: formatEntry(have.Found[i])})
		}
	}
	return differences
}

func formatEntry(entry BoardEntry) string {
	return fmt.Sprintf("newest %d, %+v", entry.Newest, entry.Aggregates)
}

// compareEntry compares an entry with the expected one.
func (c *comparison) compareEntry(board Board, want, have BoardEntry, keys map[Order]float64) (differences []Difference) {
	compare := func(field, expected, actual string) {
		if expected != actual {
			differences = append(differences, Difference{Board: board, Holder: want.ID, Field: field, Want: expected, Have: actual})
		}
	}
	wantFields, haveFields := namedFields(want), namedFields(have)
	for i, field := range wantFields {
		compare(field.name, decimal(field.amount), decimal(haveFields[i].amount))
	}
	for _, order := range c.newestConfig.RankingOrders() {
		var expected, actual string
		if Rankable(order, want.Aggregates, c.newestConfig.MinAnswers) {
			expected = formatKey(Key(order, want.Aggregates, c.newestConfig.Weights))
		}
		if key, ranked := keys[order]; ranked {
			actual = formatKey(key)
		}
		compare("key by "+string(order), expected, actual)
	}
	return differences
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// formatKey formats a key so that different keys have different texts.
func formatKey(key float64) string { return strconv.FormatFloat(key, 'g', -1, 64) }

// namedField is one field of an entry with its name in a Difference.
type namedField struct {
	name   string
	amount int64
}

func namedFields(entry BoardEntry) []namedField {
	sums := entry.Aggregates
	return []namedField{
		{"newest", entry.Newest}, {"score", sums.Score}, {"time_ms", sums.TimeMS}, {"limit_ms", sums.LimitMS}, {"matches", sums.Matches},
		{"asked", sums.Asked}, {"answered", sums.Answered}, {"correct", sums.Correct},
	}
}
