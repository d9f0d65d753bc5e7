package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/redisstore"
	"laststand/internal/testenv"
)

// addResults adds one result for each of ten players and for a team.
func (c *testCluster) addResults() {
	for i := range 10 {
		c.ledger.addPlayerResult(fmt.Sprintf("p%d", i), newAggregates(int64(i)/2))
	}
	c.ledger.addResult(lb.Teams, "t1", newAggregates(3))
}

// eachTestCluster runs a test on every kind of Redis, with a cluster of the given number of
// nodes.
func eachTestCluster(t *testing.T, nodes int, test func(t *testing.T, cluster *testCluster)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		test(t, newTestCluster(rdb, mixedConfig(), nodes))
	})
}

func TestReadersDistinguishNotReadyFromEmpty(t *testing.T) {
	eachTestCluster(t, 1, func(t *testing.T, cluster *testCluster) {
		readPage := func() error {
			_, err := cluster.nodes[0].reader.Page(t.Context(), cluster.cfg.Game, lb.Query{Window: lb.Day})
			return err
		}
		if err := readPage(); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("before the first apply: %v", err)
		}
		cluster.apply(t, 0)
		for _, window := range cluster.cfg.Windows {
			page := cluster.page(t, 0, lb.Query{Window: window})
			from := time.Date(2026, 11, 20-max(window.Days()-1, 0), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			if page.Total != 0 || page.Entries == nil || page.From != from || page.To != "2026-11-20" {
				t.Fatalf("a new game's page: %+v", page)
			}
		}
		cluster.addResults()
		cluster.apply(t, 0)
		cluster.checkAll(t, 0, 3)
		cluster.deleteKeys(t)
		if err := readPage(); !errors.Is(err, lb.ErrNotReady) {
			t.Fatalf("after the keys were deleted: %v", err)
		}
	})
}

// repeatingStore runs every commit twice, as a client does that got no reply.
type repeatingStore struct{ *redisstore.Boards }

func (s repeatingStore) Commit(ctx context.Context, boardSet lb.BoardSet, txs []lb.Transaction) error {
	err := s.Boards.Commit(ctx, boardSet, txs)
	repeatErr := s.Boards.Commit(ctx, boardSet, txs)
	if err == nil && len(txs) == 1 && repeatErr != nil {
		return fmt.Errorf("a repeated transaction: %w", repeatErr)
	}
	if repeatErr != nil && !errors.Is(repeatErr, lb.ErrStale) {
		return repeatErr
	}
	return err
}

func TestARepeatedScriptWritesNothingMore(t *testing.T) {
	eachTestCluster(t, 1, func(t *testing.T, cluster *testCluster) {
		applier := cluster.applierOn(repeatingStore{cluster.nodes[0].store})
		for range 30 {
			cluster.addResults()
		}
		cluster.ledger.startDay()
		cluster.addResults()
		for range 2 {
			testenv.NoError(t, applier.Apply(t.Context(), cluster.cfg.Game))
			cluster.checkAll(t, 0, 4)
			cluster.ledger.addPlayerResult("p1", newAggregates(3))
		}
	})
}

func TestApplyRebuildsACorruptBoardSet(t *testing.T) {
	eachTestCluster(t, 1, func(t *testing.T, cluster *testCluster) {
		cluster.addResults()
		cluster.apply(t, 0)
		served := testenv.Need(cluster.nodes[0].store.ServedState(t.Context(), cluster.cfg.Game, cluster.cfg.Hash()))(t)
		brokenTx := lb.Transaction{ExpectedVersion: served.Version, Version: "next", Progress: served.Progress, Config: cluster.cfg, Changes: map[lb.Board]lb.Change{
			players("all"): put(players("all"), lb.BoardEntry{ID: "p1", Newest: 99, Aggregates: newAggregates(5)}).Change,
		}}
		key := "{b:" + cluster.cfg.Game + "}:" + served.ID + ":player:all:meta"
		testenv.NoError(t, errors.Join(cluster.rdb.Del(t.Context(), key).Err(), cluster.rdb.Set(t.Context(), key, "no hash", 0).Err()))
		if err := cluster.nodes[0].store.Commit(t.Context(), served.BoardSet, []lb.Transaction{brokenTx}); err == nil {
			t.Fatal("the transaction did not fail")
		}
		cluster.ledger.addPlayerResult("p1", newAggregates(1))
		cluster.apply(t, 0)
		cluster.checkAll(t, 0, 5)
	})
}

func TestReadersNeverSeeAHalfAppliedRow(t *testing.T) {
	eachTestCluster(t, 2, func(t *testing.T, cluster *testCluster) {
		cluster.apply(t, 0)
		done := make(chan struct{})
		var readers sync.WaitGroup
		for i := range cluster.nodes {
			readers.Go(func() {
				for isRunning := true; isRunning; {
					select {
					case <-done:
						isRunning = false
					default:
					}
					cluster.checkOneRead(t, i)
				}
			})
		}
		for i := range 40 {
			cluster.addResults()
			switch i {
			case 5, 15, 17:
				cluster.ledger.startDay()
			case 12:
				cluster.ledger.correct(3)
			case 25:
				cluster.deleteKeys(t)
			}
			cluster.applyConcurrently(t)
		}
		close(done)
		readers.Wait()
		cluster.checkAll(t, 1, 4)
	})
}

// checkOneRead reads the open day and a rolling window once and compares them with the
// oracle. Other goroutines may change the boards at the same time.
func (c *testCluster) checkOneRead(t *testing.T, node int) {
	for _, span := range []string{lb.OpenDay, "2d"} {
		rankingID := lb.RankingID{Game: c.cfg.Game, ConfigHash: c.cfg.Hash(), Board: players(span), Order: lb.ByTime}
		slice, err := c.nodes[node].store.ReadSlice(t.Context(), rankingID, lb.SliceRequest{Anchor: lb.Top, Limit: lb.MaxLimit})
		if errors.Is(err, lb.ErrNotReady) || err == nil && slice.LedgerPos == 0 {
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		days := daySpan{slice.WindowFirstDay, slice.LedgerDay}
		if span == lb.OpenDay {
			days.from = slice.Span
		}
		reference := newOracle(t, c.cfg, c.ledger.rowsUpTo(slice.LedgerPos))
		want := reference.board(t, lb.Players, lb.ByTime, days)
		reference.close(t)
		if len(slice.Entries) != len(want.ranking) || slice.Total != int64(len(want.ranking)) {
			t.Errorf("%s at %d: %d entries, want %d", span, slice.LedgerPos, len(slice.Entries), len(want.ranking))
			return
		}
		for i, row := range slice.Entries {
			if row.BoardEntry != want.entries[want.ranking[i].ID] {
				t.Errorf("%s at %d: entry %d is %+v, want %+v", span, slice.LedgerPos, i, row.BoardEntry, want.ranking[i])
			}
		}
	}
}
