package redisboard_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"

	lb "laststand/internal/leaderboard"
)

// checkAll compares every board and order of players and teams, as node reads
// it in pages of limit, with the oracle. It also reads a third of the boards, and a third
// of their entries, entry by entry; limit decides which ones.
func (w *testCluster) checkAll(t failingTest, node, limit int) {
	t.Helper()
	o := newOracle(t, w.cfg, w.ledger.allRows())
	defer o.close(t)
	today := w.ledger.today()
	var queries []lb.Query
	for _, kind := range lb.Kinds() {
		for _, window := range w.cfg.Windows {
			for _, order := range w.cfg.Orders {
				queries = append(queries, lb.Query{Window: window, Order: order, Kind: kind, Limit: limit})
			}
		}
		for _, ago := range []int{0, 1, 2, 5, 8, 13} {
			queries = append(queries, lb.Query{Window: lb.Day, Order: lb.ByScore, Kind: kind, Date: before(today, ago), Limit: limit})
		}
	}
	for i, q := range queries {
		want := w.checkBoard(t, o, node, q)
		if i%3 == limit%3 {
			w.checkEntries(t, node, q, want)
		}
	}
	w.checkPlaces(t, o, node, []string{"p0", "p1", "p2", "nobody"})
}

// span returns the days that a page says it holds, after checking that they are allowed.
func (w *testCluster) span(t failingTest, q lb.Query, p lb.Page) days {
	t.Helper()
	rows, today := w.ledger.allRows(), w.ledger.today()
	if len(rows) == 0 {
		return days{p.From, p.To}
	}
	d := days{p.From, p.To}
	switch {
	case q.Window == lb.All && d == days{rows[0].Day, today}:
	case q.Window == lb.Day && q.Date == "" && d == days{today, today}:
	case q.Window == lb.Day && q.Date != "" && d == days{q.Date, q.Date}:
	case q.Window.Rolling() && d.to == today && d.from <= before(today, q.Window.Days()-1): // the evicted days may still be there
	default:
		t.Fatalf("%+v: holds %+v on %s", q, d, today)
	}
	return d
}

func (w *testCluster) checkBoard(t failingTest, o *oracle, node int, q lb.Query) board {
	t.Helper()
	page := w.page(t, node, q)
	want := o.board(t, q.Kind, q.Order, w.span(t, q, page))
	// as_of may be the time of a result or, until the next build, of a corrected result.
	if page.AsOf < want.asOf || page.AsOf > max(want.asOf, want.corrected) {
		t.Fatalf("%+v: as of %d, want %d (corrected %d)", q, page.AsOf, want.asOf, want.corrected)
	}
	w.checkWalk(t, node, q, want.ranking)
	return want
}

func (w *testCluster) checkEntries(t failingTest, node int, q lb.Query, want board) {
	t.Helper()
	w.checkAround(t, node, q, want.ranking)
	w.checkSome(t, node, q, want.ranking)
	if q.Date == "" {
		w.checkStandings(t, node, q, want)
	}
}

// checkWalk follows the cursors to the end and back.
func (w *testCluster) checkWalk(t failingTest, node int, q lb.Query, want []lb.Entry) {
	t.Helper()
	got := []lb.Entry{}
	pages := 0
	page := w.page(t, node, q)
	if page.Total != int64(len(want)) || page.PrevCursor != "" {
		t.Fatalf("%+v: total %d prev %q, want %d, none", q, page.Total, page.PrevCursor, len(want))
	}
	for {
		got = append(got, page.Entries...)
		if page.NextCursor == "" {
			break
		}
		pages++
		q.Cursor = page.NextCursor
		page = w.page(t, node, q)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v: walk is\n%+v, want\n%+v", q, got, want)
	}
	end := len(want) - len(page.Entries)
	for page.PrevCursor != "" {
		pages--
		q.Cursor = page.PrevCursor
		page = w.page(t, node, q)
		start := max(0, end-q.Limit)
		if !reflect.DeepEqual(page.Entries, want[start:end]) {
			t.Fatalf("%+v: walking back is\n%+v, want\n%+v", q, page.Entries, want[start:end])
		}
		end = start
	}
	if end != 0 || pages != 0 {
		t.Fatalf("%+v: walking back ended at %d, %d pages from the start", q, end, pages)
	}
	q.Cursor = "x" + q.Cursor
	if _, err := w.nodes[node].reader.Page(t.Context(), w.cfg.Game, q); !errors.Is(err, lb.ErrBadCursor) {
		t.Fatalf("a damaged cursor: %v", err)
	}
}

func (w *testCluster) page(t failingTest, node int, q lb.Query) lb.Page {
	t.Helper()
	page, err := w.nodes[node].reader.Page(t.Context(), w.cfg.Game, q)
	if err != nil {
		t.Fatalf("page %+v: %v", q, err)
	}
	return page
}

func (w *testCluster) checkAround(t failingTest, node int, q lb.Query, want []lb.Entry) {
	t.Helper()
	for i, e := range want {
		if i%3 != q.Limit%3 {
			continue
		}
		q.Around = e.ID
		start, end := i-q.Limit/2, i-q.Limit/2+q.Limit
		cut := want[max(0, start):min(end, len(want))]
		if got := w.page(t, node, q).Entries; !reflect.DeepEqual(got, cut) {
			t.Fatalf("%+v: around is\n%+v, want\n%+v", q, got, cut)
		}
	}
	q.Around = "nobody"
	if _, err := w.nodes[node].reader.Page(t.Context(), w.cfg.Game, q); !errors.Is(err, lb.ErrNotRanked) {
		t.Fatalf("%+v: around nobody: %v", q, err)
	}
}

func (w *testCluster) checkSome(t failingTest, node int, q lb.Query, want []lb.Entry) {
	t.Helper()
	q.Players = []string{"nobody", "p3", "p0", "p3", "p5", "t1"}
	some := []lb.Entry{}
	for _, e := range want {
		if slices.Contains(q.Players, e.ID) {
			some = append(some, e)
		}
	}
	page := w.page(t, node, q)
	if !reflect.DeepEqual(page.Entries, some) || page.Total != int64(len(want)) {
		t.Fatalf("%+v: players are\n%+v, want\n%+v", q, page.Entries, some)
	}
}

func (w *testCluster) checkStandings(t failingTest, node int, q lb.Query, b board) {
	t.Helper()
	for i, e := range b.ranking {
		if i%3 != q.Limit%3 {
			continue
		}
		s, err := w.nodes[node].reader.Standing(t.Context(), w.cfg.Game,
			lb.StandingQuery{Window: q.Window, Order: q.Order, Kind: q.Kind, Player: e.ID, Explain: true})
		if err != nil {
			t.Fatalf("standing of %s: %v", e.ID, err)
		}
		if !reflect.DeepEqual(s.Entry, e) || s.Total != int64(len(b.ranking)) {
			t.Fatalf("standing %+v of %d, want %+v of %d", s.Entry, s.Total, e, len(b.ranking))
		}
		w.checkUnexplained(t, node, q, s)
		checkToNext(t, s, q.Order, b, i)
		value := int64(0)
		for _, p := range s.Explain.Aggregates {
			value += p.Value
		}
		if value != e.Value {
			t.Fatalf("explained parts %+v add up to %d, not %d", s.Explain.Aggregates, value, e.Value)
		}
	}
}

// checkUnexplained checks that a standing is the same without an explanation.
func (w *testCluster) checkUnexplained(t failingTest, node int, q lb.Query, explained lb.Standing) {
	t.Helper()
	s, err := w.nodes[node].reader.Standing(t.Context(), w.cfg.Game,
		lb.StandingQuery{Window: q.Window, Order: q.Order, Kind: q.Kind, Player: explained.ID})
	explained.Explain = nil
	if err != nil || !reflect.DeepEqual(s, explained) {
		t.Fatalf("standing %+v, %v, explained %+v", s, err, explained)
	}
}

func checkToNext(t failingTest, s lb.Standing, order lb.Order, b board, i int) {
	t.Helper()
	rank := b.ranking[i].Rank
	equal, place := int64(0), int64(0)
	for j, e := range b.ranking {
		if e.Rank == rank {
			equal++
			if j <= i {
				place++
			}
		}
	}
	total := int64(len(b.ranking))
	if notWorse := 100 * float64(total-rank+1) / float64(total); math.Abs(s.Percentile-notWorse) > 1e-9 {
		t.Fatalf("percentile %v, want %v", s.Percentile, notWorse)
	}
	tie := s.Explain.Tie
	if (tie != nil) != (equal > 1) || tie != nil && *tie != (lb.Tie{SharedBy: equal, Place: place, Position: b.held[s.ID].Newest}) {
		t.Fatalf("tie %+v, want %d shared, place %d", tie, equal, place)
	}
	if rank == 1 {
		if s.ToNext != nil {
			t.Fatalf("to_next %v at rank 1", *s.ToNext)
		}
		return
	}
	missing, _ := new(big.Rat).Sub(better(order, b.ranking[rank-2]), better(order, b.ranking[i])).Float64()
	if s.ToNext == nil || *s.ToNext <= 0 || *s.ToNext < missing-1e-9 || *s.ToNext > missing+0.0001+1e-9 {
		t.Fatalf("to_next %v in %s, want %v", s.ToNext, order, missing)
	}
}

// better returns the quantity by which an order ranks; more is better.
func better(order lb.Order, e lb.Entry) *big.Rat {
	switch order {
	case lb.ByScore:
		return big.NewRat(e.Score, 1)
	case lb.ByMatches:
		return big.NewRat(e.Matches, 1)
	case lb.ByAccuracy:
		return big.NewRat(e.Correct, e.Asked)
	case lb.ByTime:
		return big.NewRat(-e.TimeMS, e.Asked)
	}
	return big.NewRat(e.Value, 1)
}

func (w *testCluster) checkPlaces(t failingTest, o *oracle, node int, ids []string) {
	t.Helper()
	got, position, err := w.nodes[node].reader.WindowStandings(t.Context(), w.cfg.Game, ids)
	if want := int64(len(w.ledger.allRows())); err != nil || position != want {
		t.Fatalf("window standings at %d: %v, want %d", position, err, want)
	}
	want := map[string]map[lb.Window]lb.WindowStanding{}
	for _, window := range w.cfg.Windows {
		q := lb.Query{Window: window, Order: lb.ByValue, Kind: lb.Players}
		for _, e := range o.board(t, lb.Players, lb.ByValue, w.span(t, q, w.page(t, node, q))).ranking {
			if !slices.Contains(ids, e.ID) {
				continue
			}
			if want[e.ID] == nil {
				want[e.ID] = map[lb.Window]lb.WindowStanding{}
			}
			want[e.ID][window] = lb.WindowStanding{Rank: e.Rank, Value: e.Value}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("window standings %s, want %s", fmt.Sprint(got), fmt.Sprint(want))
	}
}
