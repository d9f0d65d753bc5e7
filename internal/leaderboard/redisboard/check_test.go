package redisboard_test

import (
	"errors"
	"math"
	"math/big"
	"reflect"
	"slices"
	"time"

	lb "laststand/internal/leaderboard"
)

// checkAll compares every board and order, as node reads it in pages of limit,
// with the oracle; of a board's entries a third, which limit chooses, are looked
// at one by one.
func (w *world) checkAll(t failer, node, limit int) {
	t.Helper()
	rows, today := w.ledger.all(), w.ledger.today()
	for _, order := range w.cfg.Orders {
		w.checkBoard(t, node, lb.Query{Window: lb.All, Order: order, Limit: limit}, sum(w.cfg, rows, "all"))
		w.checkBoard(t, node, lb.Query{Window: lb.Day, Order: order, Limit: limit}, sum(w.cfg, rows, today))
	}
	for ago := range 3 {
		date := before(today, ago)
		w.checkBoard(t, node, lb.Query{Window: lb.Day, Date: date, Limit: limit}, sum(w.cfg, rows, date))
	}
	w.checkPlaces(t, node, []string{"p0", "p1", "p2", "nobody"})
}

func before(date string, days int) string {
	d, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic(err)
	}
	return d.AddDate(0, 0, -days).Format(time.DateOnly)
}

func (w *world) checkBoard(t failer, node int, q lb.Query, o oracle) {
	t.Helper()
	order := q.Order
	if order == "" {
		order = lb.ByValue
	}
	want := o.ranking(order)
	w.checkWalk(t, node, q, want, o.asOf)
	w.checkAround(t, node, q, want)
	w.checkPlayers(t, node, q, want)
	if q.Date == "" {
		w.checkStandings(t, node, q, want, o)
	}
}

// checkWalk follows the cursors to the end and back.
func (w *world) checkWalk(t failer, node int, q lb.Query, want []lb.Entry, asOf int64) {
	t.Helper()
	reader := w.nodes[node].reader
	got := []lb.Entry{}
	pages := 0
	page := w.page(t, node, q)
	if page.Total != int64(len(want)) || page.AsOf != asOf || page.PrevCursor != "" {
		t.Fatalf("%+v: total %d as of %d prev %q, want %d, %d, none", q, page.Total, page.AsOf, page.PrevCursor, len(want), asOf)
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
	if _, err := reader.Page(t.Context(), w.cfg.Game, lb.Query{Window: q.Window, Order: q.Order, Cursor: "x" + q.Cursor}); !errors.Is(err, lb.ErrBadCursor) {
		t.Fatalf("a damaged cursor: %v", err)
	}
}

func (w *world) page(t failer, node int, q lb.Query) lb.Page {
	t.Helper()
	page, err := w.nodes[node].reader.Page(t.Context(), w.cfg.Game, q)
	if err != nil {
		t.Fatalf("page %+v: %v", q, err)
	}
	return page
}

func (w *world) checkAround(t failer, node int, q lb.Query, want []lb.Entry) {
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
		t.Fatalf("around nobody: %v", err)
	}
}

func (w *world) checkPlayers(t failer, node int, q lb.Query, want []lb.Entry) {
	t.Helper()
	q.Players = []string{"nobody", "p3", "p0", "p3", "p5"}
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

func (w *world) checkStandings(t failer, node int, q lb.Query, want []lb.Entry, o oracle) {
	t.Helper()
	for i, e := range want {
		if i%3 != q.Limit%3 {
			continue
		}
		s, err := w.nodes[node].reader.Standing(t.Context(), w.cfg.Game,
			lb.StandingQuery{Window: q.Window, Order: q.Order, Player: e.ID, Explain: true})
		if err != nil {
			t.Fatalf("standing of %s: %v", e.ID, err)
		}
		if !reflect.DeepEqual(s.Entry, e) || s.Total != int64(len(want)) {
			t.Fatalf("standing %+v of %d, want %+v of %d", s.Entry, s.Total, e, len(want))
		}
		w.checkNear(t, s, q.Order, want, i, o)
		value := int64(0)
		for _, p := range s.Explain.Parts {
			value += p.Value
		}
		if value != e.Value {
			t.Fatalf("explained parts %+v add up to %d, not %d", s.Explain.Parts, value, e.Value)
		}
	}
}

func (w *world) checkNear(t failer, s lb.Standing, order lb.Order, want []lb.Entry, i int, o oracle) {
	t.Helper()
	rank := want[i].Rank
	equal, place := int64(0), int64(0)
	for j, e := range want {
		if e.Rank == rank {
			equal++
			if j <= i {
				place++
			}
		}
	}
	notWorse := 100 * float64(int64(len(want))-rank+1) / float64(len(want))
	if math.Abs(s.Percentile-notWorse) > 1e-9 {
		t.Fatalf("percentile %v, want %v", s.Percentile, notWorse)
	}
	tie := s.Explain.Tie
	if (tie != nil) != (equal > 1) || tie != nil && *tie != (lb.Tie{SharedBy: equal, Place: place, Position: o.entries[s.ID].Newest}) {
		t.Fatalf("tie %+v, want %d shared, place %d", tie, equal, place)
	}
	if rank == 1 {
		if s.ToNext != nil {
			t.Fatalf("to_next %v at rank 1", *s.ToNext)
		}
		return
	}
	ahead := o.entries[want[rank-2].ID].Parts
	missing, _ := new(big.Rat).Sub(o.better(order, ahead), o.better(order, o.entries[s.ID].Parts)).Float64()
	if s.ToNext == nil || *s.ToNext <= 0 || *s.ToNext < missing-1e-9 || *s.ToNext > missing+0.0001+1e-9 {
		t.Fatalf("to_next %v in %s, want %v", s.ToNext, order, missing)
	}
}

func (w *world) checkPlaces(t failer, node int, ids []string) {
	t.Helper()
	rows, today := w.ledger.all(), w.ledger.today()
	got, position, err := w.nodes[node].reader.Places(t.Context(), w.cfg.Game, ids)
	if err != nil || position != int64(len(rows)) {
		t.Fatalf("places at %d: %v, want %d", position, err, len(rows))
	}
	want := map[string]map[lb.Window]lb.Place{}
	for window, span := range map[lb.Window]string{lb.All: "all", lb.Day: today} {
		for _, e := range sum(w.cfg, rows, span).ranking(lb.ByValue) {
			if !slices.Contains(ids, e.ID) {
				continue
			}
			if want[e.ID] == nil {
				want[e.ID] = map[lb.Window]lb.Place{}
			}
			want[e.ID][window] = lb.Place{Rank: e.Rank, Value: e.Value}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("places %+v, want %+v", got, want)
	}
}
