package redisboard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/leaderboard/redisboard"
	"laststand/internal/testenv"
)

// addResults adds results of ten players and a team.
func (w *testCluster) addResults() {
	for i := range 10 {
		w.ledger.result(fmt.Sprintf("p%d", i), newAggregates(int64(i)/2))
	}
	w.ledger.addResult(lb.Teams, "t1", newAggregates(3))
}

// eachCluster runs f on every kind of Redis.
func eachCluster(t *testing.T, nodes int, f func(t *testing.T, w *testCluster)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		f(t, newTestCluster(rdb, mixedConfig(), nodes))
	})
}

func TestNotReadyDiffersFromEmpty(t *testing.T) {
	eachCluster(t, 1, func(t *testing.T, w *testCluster) {
		ask := func() error {
			_, err := w.nodes[0].reader.Page(t.Context(), w.cfg.Game, lb.Query{Window: lb.Day})
			return err
		}
		if err := ask(); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("before the first apply: %v", err)
		}
		w.apply(t, 0)
		for _, window := range w.cfg.Windows {
			page := w.page(t, 0, lb.Query{Window: window})
			from := time.Date(2026, 11, 20-max(window.Days()-1, 0), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			if page.Total != 0 || page.Entries == nil || page.From != from || page.To != "2026-11-20" {
				t.Fatalf("a new game's page: %+v", page)
			}
		}
		w.addResults()
		w.apply(t, 0)
		w.checkAll(t, 0, 3)
		w.flush(t)
		if err := ask(); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("after a flush: %v", err)
		}
	})
}

// repeatingStore runs every commit twice, as a client does that got no reply.
type repeatingStore struct{ *redisboard.Store }

func (d repeatingStore) Commit(ctx context.Context, g lb.Generation, steps []lb.Step) error {
	err := d.Store.Commit(ctx, g, steps)
	again := d.Store.Commit(ctx, g, steps)
	if err == nil && len(steps) == 1 && again != nil {
		return fmt.Errorf("a repeated transaction: %w", again)
	}
	if again != nil && !errors.Is(again, lb.ErrStale) {
		return again
	}
	return err
}

func TestARepeatedScriptWritesNothingMore(t *testing.T) {
	eachCluster(t, 1, func(t *testing.T, w *testCluster) {
		applier := w.applierOn(repeatingStore{w.nodes[0].store})
		for range 30 {
			w.addResults()
		}
		w.ledger.startDay()
		w.addResults()
		for range 2 {
			if err := applier.Apply(t.Context(), w.cfg.Game); err != nil {
				t.Fatal(err)
			}
			w.checkAll(t, 0, 4)
			w.ledger.result("p1", newAggregates(3))
		}
	})
}

func TestACorruptCopyIsNotContinued(t *testing.T) {
	eachCluster(t, 1, func(t *testing.T, w *testCluster) {
		w.addResults()
		w.apply(t, 0)
		served, err := w.nodes[0].store.ServedState(t.Context(), w.cfg.Game, w.cfg.Hash())
		if err != nil {
			t.Fatal(err)
		}
		torn := lb.Step{ExpectedVersion: served.Version, Version: "next", Progress: served.Progress, Changes: []lb.Change{{
			Board: players("all"), AsOf: 99, Put: []lb.BoardEntry{{ID: "p1", Newest: 99, Aggregates: newAggregates(5)}},
		}}}
		key := "{b:" + w.cfg.Game + "}:" + served.ID + ":player:all:meta"
		if err := errors.Join(w.rdb.Del(t.Context(), key).Err(), w.rdb.Set(t.Context(), key, "no hash", 0).Err()); err != nil {
			t.Fatal(err)
		}
		if err := w.nodes[0].store.Commit(t.Context(), served.Generation, []lb.Step{torn}); err == nil {
			t.Fatal("the transaction did not fail")
		}
		w.ledger.result("p1", newAggregates(1))
		w.apply(t, 0)
		w.checkAll(t, 0, 5)
	})
}

func TestReadersNeverSeeAHalfAppliedRow(t *testing.T) {
	eachCluster(t, 2, func(t *testing.T, w *testCluster) {
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
			w.addResults()
			switch i {
			case 5, 15, 17:
				w.ledger.startDay()
			case 12:
				w.ledger.correct(3)
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

// checkOneRead reads the open day and a rolling window once and compares them with the
// oracle. Other goroutines may change the boards at the same time.
func (w *testCluster) checkMoment(t *testing.T, node int) {
	for _, span := range []string{lb.OpenDay, "2d"} {
		view := lb.View{Game: w.cfg.Game, ConfigHash: w.cfg.Hash(), Board: players(span), Ranking: lb.ByTime}
		s, err := w.nodes[node].store.ReadSlice(t.Context(), view, lb.Cut{From: lb.Top, Limit: lb.MaxLimit})
		if errors.Is(err, lb.ErrNotReady) || err == nil && s.Mark.Pos == 0 {
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		held := days{s.From, s.Mark.Day}
		if span == lb.OpenDay {
			held.from = s.Span
		}
		o := newOracle(t, w.cfg, w.ledger.rowsUpTo(s.Mark.Pos))
		want := o.board(t, lb.Players, lb.ByTime, held)
		o.close(t)
		if len(s.Rows) != len(want.ranking) || s.Total != int64(len(want.ranking)) {
			t.Errorf("%s at %d: %d entries, want %d", span, s.Mark.Pos, len(s.Rows), len(want.ranking))
			return
		}
		for i, row := range s.Rows {
			if row.BoardEntry != want.held[want.ranking[i].ID] {
				t.Errorf("%s at %d: entry %d is %+v, want %+v", span, s.Mark.Pos, i, row.BoardEntry, want.ranking[i])
			}
		}
	}
}
