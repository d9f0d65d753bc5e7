package redisboard_test

import (
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/leaderboard/redisboard"
)

func plainConfig() lb.Config {
	cfg := mixedConfig()
	cfg.Weights = lb.DefaultWeights
	return cfg
}

// testCluster is one game with several nodes on one Redis.
type testCluster struct {
	cfg    lb.Config
	rdb    redis.UniversalClient
	ledger *ledger
	nodes  []node
}

// node is the part of a game that each server has.
type node struct {
	store   *redisboard.Store
	applier *lb.Applier
	reader  *lb.Reader
}

func newTestCluster(rdb redis.UniversalClient, cfg lb.Config, nodes int) *testCluster {
	w := &testCluster{cfg: cfg, rdb: rdb, ledger: newLedger()}
	for range nodes {
		w.nodes = append(w.nodes, w.node(cfg))
	}
	return w
}

func (w *testCluster) node(cfg lb.Config, options ...redisboard.Option) node {
	store := redisboard.New(w.rdb, options...)
	return node{
		store:   store,
		applier: applier(cfg, w.ledger, store),
		reader: lb.NewReader(lb.ReaderOptions{
			Games: []lb.Config{cfg}, Source: store, Configs: store, Archive: lb.NewArchive(w.ledger), Now: fixedNow,
		}),
	}
}

// applierOn returns an applier on a store that wraps the real one.
func (w *testCluster) applierOn(store lb.Store) *lb.Applier { return applier(w.cfg, w.ledger, store) }

func applier(cfg lb.Config, ledger lb.Ledger, store lb.Store) *lb.Applier {
	return lb.NewApplier(lb.ApplierOptions{
		Games: []lb.Config{cfg}, Ledger: ledger, Store: store,
		Now: fixedNow, Log: slog.New(slog.DiscardHandler),
	})
}

// fixedNow returns noon of the ledger's first day, in epoch ms.
func fixedNow() int64 { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli() }

func (w *testCluster) apply(t failingTest, node int) {
	t.Helper()
	if err := w.nodes[node].applier.Apply(t.Context(), w.cfg.Game); err != nil {
		t.Fatalf("apply: %v", err)
	}
}

// applyConcurrently calls Apply twice on every node, all at the same time.
func (w *testCluster) applyAtOnce(t failingTest) {
	t.Helper()
	var all sync.WaitGroup
	errs := make([]error, 2*len(w.nodes))
	for i := range errs {
		all.Go(func() {
			errs[i] = w.nodes[i%len(w.nodes)].applier.Apply(t.Context(), w.cfg.Game)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatalf("concurrent apply: %v", err)
		}
	}
}

func (w *testCluster) keys(t failingTest) []string {
	t.Helper()
	return keysOf(t, w.rdb, w.cfg.Game)
}

// flush deletes all keys of the game.
func (w *testCluster) flush(t failingTest) {
	t.Helper()
	keys := w.keys(t)
	if len(keys) == 0 {
		return
	}
	if err := w.rdb.Del(t.Context(), keys...).Err(); err != nil {
		t.Fatalf("flush: %v", err)
	}
}

// snapshot holds a game's keys, except leases, which expire.
type snapshot struct {
	hashes map[string]map[string]string
	sets   map[string][]string
	zsets  map[string][]redis.Z
}

func (w *testCluster) snapshot(t failingTest) snapshot {
	t.Helper()
	s := snapshot{map[string]map[string]string{}, map[string][]string{}, map[string][]redis.Z{}}
	for _, key := range w.keys(t) {
		kind, err := w.rdb.Type(t.Context(), key).Result()
		switch kind {
		case "hash":
			s.hashes[key], err = w.rdb.HGetAll(t.Context(), key).Result()
		case "set":
			s.sets[key], err = w.rdb.SMembers(t.Context(), key).Result()
		case "zset":
			s.zsets[key], err = w.rdb.ZRangeWithScores(t.Context(), key, 0, -1).Result()
		}
		if err != nil {
			t.Fatalf("snapshot: %v", err)
		}
	}
	return s
}

// restore writes a snapshot back to Redis.
func (w *testCluster) restore(t failingTest, s snapshot) {
	t.Helper()
	w.flush(t)
	pipe := w.rdb.Pipeline()
	for key, fields := range s.hashes {
		pipe.HSet(t.Context(), key, fields)
	}
	for key, members := range s.sets {
		pipe.SAdd(t.Context(), key, members)
	}
	for key, members := range s.zsets {
		pipe.ZAdd(t.Context(), key, members...)
	}
	if pipe.Len() == 0 {
		return
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatalf("restore: %v", err)
	}
}
