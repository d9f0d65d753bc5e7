package redisboard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/leaderboard/redisboard"
	"laststand/internal/trial"
)

// right is a result with n right answers.
func right(n int64) lb.Parts {
	return lb.Parts{Score: 100 * n, Matches: 1, Asked: 5, Answered: 5, Correct: n, LimitMS: 5000, TimeMS: 5000 - 300*n}
}

// some gives ten players results.
func (w *world) some() {
	for i := range 10 {
		w.ledger.result(fmt.Sprintf("p%d", i), right(int64(i)/2))
	}
}

// eachWorld runs f on every kind of Redis.
func eachWorld(t *testing.T, nodes int, f func(t *testing.T, w *world)) {
	t.Parallel()
	trial.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		f(t, newWorld(rdb, mixed(), nodes))
	})
}

func TestNotReadyIsToldFromEmpty(t *testing.T) {
	eachWorld(t, 1, func(t *testing.T, w *world) {
		ask := func() error {
			_, err := w.nodes[0].reader.Page(t.Context(), w.cfg.Game, lb.Query{Window: lb.Day})
			return err
		}
		if err := ask(); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("before the first apply: %v", err)
		}
		w.apply(t, 0)
		page := w.page(t, 0, lb.Query{Window: lb.Day})
		if page.Total != 0 || page.Entries == nil || page.From != "2026-11-20" || page.To != "2026-11-20" {
			t.Fatalf("a new game's page: %+v", page)
		}
		w.some()
		w.apply(t, 0)
		w.checkAll(t, 0, 3)
		w.flush(t)
		if err := ask(); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("after a flush: %v", err)
		}
	})
}

// doubled runs every commit twice, as a client does that had no reply.
type doubled struct{ *redisboard.Store }

func (d doubled) Commit(ctx context.Context, g lb.Generation, steps []lb.Step) error {
	err := d.Store.Commit(ctx, g, steps)
	again := d.Store.Commit(ctx, g, steps)
	if err == nil && len(steps) == 1 && again != nil {
		return fmt.Errorf("a repeated step: %w", again)
	}
	if again != nil && !errors.Is(again, lb.ErrStale) {
		return again
	}
	return err
}

func TestARepeatedScriptWritesNothingMore(t *testing.T) {
	eachWorld(t, 1, func(t *testing.T, w *world) {
		applier := w.applierOn(doubled{w.nodes[0].store})
		for range 30 {
			w.some()
		}
		w.ledger.turn()
		w.some()
		for range 2 {
			if err := applier.Apply(t.Context(), w.cfg.Game); err != nil {
				t.Fatal(err)
			}
			w.checkAll(t, 0, 4)
			w.ledger.result("p1", right(3))
		}
	})
}

func TestATornStepIsNotBuiltOn(t *testing.T) {
	eachWorld(t, 1, func(t *testing.T, w *world) {
		w.some()
		w.apply(t, 0)
		served, err := w.nodes[0].store.Find(t.Context(), w.cfg.Game, w.cfg.Form())
		if err != nil {
			t.Fatal(err)
		}
		// An error in the midst of a script leaves its first writes behind.
		torn := lb.Step{Expect: served.Stamp, Stamp: "next", Changes: []lb.Change{{
			Board: lb.Board{Kind: lb.Players, Span: "all"},
			Put:   []lb.Held{{ID: "p1", Newest: 99, Parts: right(5)}},
			Out:   map[lb.Order][]string{}, In: map[lb.Order][]lb.Ranked{},
		}}}
		key := "{b:" + w.cfg.Game + "}:" + served.ID + ":player:all:meta"
		if err := errors.Join(w.rdb.Del(t.Context(), key).Err(), w.rdb.Set(t.Context(), key, "no hash", 0).Err()); err != nil {
			t.Fatal(err)
		}
		if err := w.nodes[0].store.Commit(t.Context(), served.Generation, []lb.Step{torn}); err == nil {
			t.Fatal("the step was not cut short")
		}
		w.ledger.result("p1", right(1))
		w.apply(t, 0)
		w.checkAll(t, 0, 5)
	})
}

func TestReadersNeverSeeAHalfAppliedRow(t *testing.T) {
	eachWorld(t, 2, func(t *testing.T, w *world) {
		w.apply(t, 0)
		done := make(chan struct{})
		var readers sync.WaitGroup
		for i := range w.nodes {
			readers.Go(func() {
				for open := true; open; {
					select {
					case <-done:
						open = false
					default:
					}
					w.checkMoment(t, i)
				}
			})
		}
		for i := range 40 {
			w.some()
			switch i {
			case 15:
				w.ledger.turn()
			case 25:
				w.flush(t)
			}
			w.applyAtOnce(t)
		}
		close(done)
		readers.Wait()
		w.checkAll(t, 1, 4)
	})
}

// checkMoment reads once, whatever else goes on.
func (w *world) checkMoment(t *testing.T, node int) {
	view := lb.View{Game: w.cfg.Game, Form: w.cfg.Form(), Board: lb.Board{Kind: lb.Players, Span: lb.OpenDay}, Ranking: lb.ByTime}
	s, err := w.nodes[node].store.Slice(t.Context(), view, lb.Cut{From: lb.Top, Limit: lb.MaxLimit})
	if errors.Is(err, lb.ErrNotReady) {
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	o := sum(w.cfg, w.ledger.upTo(s.Mark.Pos), s.Span)
	ranking := o.ranking(lb.ByTime)
	if len(s.Rows) != len(ranking) || s.Total != int64(len(ranking)) || s.AsOf != o.asOf {
		t.Errorf("at %d: %d entries as of %d, want %d as of %d", s.Mark.Pos, len(s.Rows), s.AsOf, len(ranking), o.asOf)
		return
	}
	for i, row := range s.Rows {
		if row.Held != o.entries[ranking[i].ID] {
			t.Errorf("at %d: entry %d is %+v, want %+v", s.Mark.Pos, i, row.Held, ranking[i])
		}
	}
}
