package redisstore_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"

	lb "laststand/internal/leaderboard"
)

// checkAll compares every board and order of players and teams with the oracle. The node with
// index node reads them in pages of limit entries. For a third of the boards checkAll also
// reads a third of the entries one by one; limit decides which ones.
func (c *testCluster) checkAll(t failingTest, node, limit int) {
	t.Helper()
	reference := newOracle(t, c.cfg, c.ledger.allRows())
	defer reference.close(t)
	today := c.ledger.today()
	var queries []lb.Query
	for _, kind := range lb.Kinds() {
		for _, window := range c.cfg.Windows {
			for _, order := range c.cfg.Orders {
				queries = append(queries, lb.Query{Window: window, Order: order, Kind: kind, Limit: limit})
			}
		}
		for _, daysAgo := range []int{0, 1, 2, 5, 8, 13} {
			queries = append(queries, lb.Query{Window: lb.Day, Order: lb.ByScore, Kind: kind, Date: daysBefore(today, daysAgo), Limit: limit})
		}
	}
	for i, query := range queries {
		want := c.checkBoard(t, reference, node, query)
		if i%3 == limit%3 {
			c.checkEntries(t, node, query, want)
		}
	}
	c.checkWindowStandings(t, reference, node, []string{"p0", "p1", "p2", "nobody"})
}

// checkedSpan returns the first and last day of a page. It fails the test if the query does
// not allow these days.
func (c *testCluster) checkedSpan(t failingTest, query lb.Query, page lb.Page) daySpan {
	t.Helper()
	rows, today := c.ledger.allRows(), c.ledger.today()
	if len(rows) == 0 {
		return daySpan{page.From, page.To}
	}
	span := daySpan{page.From, page.To}
	switch {
	case query.Window == lb.All && span == daySpan{rows[0].Day, today}:
	case query.Window == lb.Day && query.Date == "" && span == daySpan{today, today}:
	case query.Window == lb.Day && query.Date != "" && span == daySpan{query.Date, query.Date}:
	case query.Window.IsRolling() && span.to == today && span.from <= daysBefore(today, query.Window.Days()-1): // the evicted days may still be there
	default:
		t.Fatalf("%+v: the page has the days %+v on %s", query, span, today)
	}
	return span
}

func (c *testCluster) checkBoard(t failingTest, reference *oracle, node int, query lb.Query) board {
	t.Helper()
	page := c.page(t, node, query)
	want := reference.board(t, query.Kind, query.Order, c.checkedSpan(t, query, page))
	// as_of may be the time of a result or, until the next build, of a corrected result.
	if page.AsOf < want.asOf || page.AsOf > max(want.asOf, want.lastCorrection) {
		t.Fatalf("%+v: as of %d, want %d (corrected %d)", query, page.AsOf, want.asOf, want.lastCorrection)
	}
	c.checkAllPages(t, node, query, want.ranking)
	return want
}

func (c *testCluster) checkEntries(t failingTest, node int, query lb.Query, want board) {
	t.Helper()
	c.checkAround(t, node, query, want.ranking)
	c.checkPlayers(t, node, query, want.ranking)
	if query.Date == "" {
		c.checkStandings(t, node, query, want)
	}
}

// checkAllPages reads a board page by page to its end and back, and compares the entries with
// want.
func (c *testCluster) checkAllPages(t failingTest, node int, query lb.Query, want []lb.Entry) {
	t.Helper()
	got := []lb.Entry{}
	pagesFromStart := 0
	page := c.page(t, node, query)
	if page.Total != int64(len(want)) || page.PrevCursor != "" {
		t.Fatalf("%+v: total %d prev %q, want %d, none", query, page.Total, page.PrevCursor, len(want))
	}
	for {
		got = append(got, page.Entries...)
		if page.NextCursor == "" {
			break
		}
		pagesFromStart++
		query.Cursor = page.NextCursor
		page = c.page(t, node, query)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v: the pages forward have\n%+v, want\n%+v", query, got, want)
	}
	end := len(want) - len(page.Entries)
	for page.PrevCursor != "" {
		pagesFromStart--
		query.Cursor = page.PrevCursor
		page = c.page(t, node, query)
		start := max(0, end-query.Limit)
		if !reflect.DeepEqual(page.Entries, want[start:end]) {
			t.Fatalf("%+v: the page back has\n%+v, want\n%+v", query, page.Entries, want[start:end])
		}
		end = start
	}
	if end != 0 || pagesFromStart != 0 {
		t.Fatalf("%+v: the pages back ended at entry %d, %d pages from the first", query, end, pagesFromStart)
	}
	query.Cursor = "x" + query.Cursor
	if _, err := c.nodes[node].reader.Page(t.Context(), c.cfg.Game, query); !errors.Is(err, lb.ErrBadCursor) {
		t.Fatalf("a damaged cursor: %v", err)
	}
}

func (c *testCluster) page(t failingTest, node int, query lb.Query) lb.Page {
	t.Helper()
	page, err := c.nodes[node].reader.Page(t.Context(), c.cfg.Game, query)
	if err != nil {
		t.Fatalf("page %+v: %v", query, err)
	}
	return page
}

func (c *testCluster) checkAround(t failingTest, node int, query lb.Query, want []lb.Entry) {
	t.Helper()
	for i, entry := range want {
		if i%3 != query.Limit%3 {
			continue
		}
		query.Around = entry.ID
		start, end := i-query.Limit/2, i-query.Limit/2+query.Limit
		expected := want[max(0, start):min(end, len(want))]
		if got := c.page(t, node, query).Entries; !reflect.DeepEqual(got, expected) {
			t.Fatalf("%+v: around is\n%+v, want\n%+v", query, got, expected)
		}
	}
	query.Around = "nobody"
	if _, err := c.nodes[node].reader.Page(t.Context(), c.cfg.Game, query); !errors.Is(err, lb.ErrNotRanked) {
		t.Fatalf("%+v: around nobody: %v", query, err)
	}
}

func (c *testCluster) checkPlayers(t failingTest, node int, query lb.Query, want []lb.Entry) {
	t.Helper()
	query.Players = "nobody,p3,p0,p3,p5,t1"
	expected := []lb.Entry{}
	for _, entry := range want {
		if slices.Contains(strings.Split(query.Players, ","), entry.ID) {
			expected = append(expected, entry)
		}
	}
	page := c.page(t, node, query)
	if !reflect.DeepEqual(page.Entries, expected) || page.Total != int64(len(want)) {
		t.Fatalf("%+v: players are\n%+v, want\n%+v", query, page.Entries, expected)
	}
}

func (c *testCluster) checkStandings(t failingTest, node int, query lb.Query, expected board) {
	t.Helper()
	for i, entry := range expected.ranking {
		if i%3 != query.Limit%3 {
			continue
		}
		standing, err := c.nodes[node].reader.Standing(t.Context(), c.cfg.Game,
			lb.StandingQuery{Window: query.Window, Order: query.Order, Kind: query.Kind, Player: entry.ID, Explain: true})
		if err != nil {
			t.Fatalf("standing of %s: %v", entry.ID, err)
		}
		if !reflect.DeepEqual(standing.Entry, entry) || standing.Total != int64(len(expected.ranking)) {
			t.Fatalf("standing %+v of %d, want %+v of %d", standing.Entry, standing.Total, entry, len(expected.ranking))
		}
		c.checkUnexplained(t, node, query, standing)
		checkPercentileTieAndToNext(t, standing, query.Order, expected, i)
		value := int64(0)
		for _, term := range standing.Explain.Terms {
			value += term.Value
		}
		if value != entry.Value {
			t.Fatalf("explained parts %+v add up to %d, not %d", standing.Explain.Terms, value, entry.Value)
		}
	}
}

// checkUnexplained checks that a standing is the same without an explanation.
func (c *testCluster) checkUnexplained(t failingTest, node int, query lb.Query, explained lb.Standing) {
	t.Helper()
	standing, err := c.nodes[node].reader.Standing(t.Context(), c.cfg.Game,
		lb.StandingQuery{Window: query.Window, Order: query.Order, Kind: query.Kind, Player: explained.ID})
	explained.Explain = nil
	if err != nil || !reflect.DeepEqual(standing, explained) {
		t.Fatalf("standing %+v, %v, explained %+v", standing, err, explained)
	}
}

// checkPercentileTieAndToNext checks the percentile, the tie and to_next of the standing of the entry
// expected.ranking[index].
func checkPercentileTieAndToNext(t failingTest, standing lb.Standing, order lb.Order, expected board, index int) {
	t.Helper()
	rank := expected.ranking[index].Rank
	sharedBy, place := int64(0), int64(0)
	for otherIndex, entry := range expected.ranking {
		if entry.Rank == rank {
			sharedBy++
			if otherIndex <= index {
				place++
			}
		}
	}
	total := int64(len(expected.ranking))
	if percentile := 100 * float64(total-rank+1) / float64(total); math.Abs(standing.Percentile-percentile) > 1e-9 {
		t.Fatalf("percentile %v, want %v", standing.Percentile, percentile)
	}
	tie := standing.Explain.Tie
	if (tie != nil) != (sharedBy > 1) || tie != nil && *tie != (lb.Tie{SharedBy: sharedBy, Place: place, Position: expected.entries[standing.ID].Newest}) {
		t.Fatalf("tie %+v, want %d shared, place %d", tie, sharedBy, place)
	}
	if rank == 1 {
		if standing.ToNext != nil {
			t.Fatalf("to_next %v at rank 1", *standing.ToNext)
		}
		return
	}
	distance, _ := new(big.Rat).Sub(rankedQuantity(order, expected.ranking[rank-2]), rankedQuantity(order, expected.ranking[index])).Float64()
	if standing.ToNext == nil || *standing.ToNext <= 0 || *standing.ToNext < distance-1e-9 || *standing.ToNext > distance+0.0001+1e-9 {
		t.Fatalf("to_next %v in %s, want %v", standing.ToNext, order, distance)
	}
}

// rankedQuantity returns the quantity by which an order ranks an entry. A larger quantity is better.
func rankedQuantity(order lb.Order, entry lb.Entry) *big.Rat {
	switch order {
	case lb.ByScore:
		return big.NewRat(entry.Score, 1)
	case lb.ByMatches:
		return big.NewRat(entry.Matches, 1)
	case lb.ByAccuracy:
		return big.NewRat(entry.Correct, entry.Asked)
	case lb.ByTime:
		return big.NewRat(-entry.TimeMS, entry.Asked)
	}
	return big.NewRat(entry.Value, 1)
}

func (c *testCluster) checkWindowStandings(t failingTest, reference *oracle, node int, ids []string) {
	t.Helper()
	got, err := c.nodes[node].reader.WindowStandings(t.Context(), c.cfg.Game, ids)
	if err != nil {
		t.Fatalf("window standings: %v", err)
	}
	want := map[string]map[lb.Window]lb.WindowStanding{}
	for _, window := range c.cfg.Windows {
		query := lb.Query{Window: window, Order: lb.ByValue, Kind: lb.Players}
		for _, entry := range reference.board(t, lb.Players, lb.ByValue, c.checkedSpan(t, query, c.page(t, node, query))).ranking {
			if !slices.Contains(ids, entry.ID) {
				continue
			}
			if want[entry.ID] == nil {
				want[entry.ID] = map[lb.Window]lb.WindowStanding{}
			}
			want[entry.ID][window] = lb.WindowStanding{Rank: entry.Rank, Value: entry.Value}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("window standings %s, want %s", fmt.Sprint(got), fmt.Sprint(want))
	}
}
