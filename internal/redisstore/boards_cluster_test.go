package redisstore_test

import (
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/redisstore"
)

// plainConfig has the default weights, with which values equal scores.
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

// node is the store, the applier and the reader of one server.
type node struct {
	store   *redisstore.Boards
	applier *lb.Applier
	reader  *lb.Reader
}

func newTestCluster(rdb redis.UniversalClient, cfg lb.Config, nodes int) *testCluster {
	cluster := &testCluster{cfg: cfg, rdb: rdb, ledger: newLedger()}
	for range nodes {
		cluster.nodes = append(cluster.nodes, cluster.newNode(cfg))
	}
	return cluster
}

func (c *testCluster) newNode(cfg lb.Config) node {
	store := redisstore.NewBoards(c.rdb)
	return node{
		store:   store,
		applier: newApplier(cfg, c.ledger, store),
		reader:  lb.NewReader([]lb.Config{cfg}, store, lb.NewArchive(c.ledger), fixedNow),
	}
}

// applierOn returns an applier on another store, which wraps that of a node.
func (c *testCluster) applierOn(store lb.Store) *lb.Applier {
	return newApplier(c.cfg, c.ledger, store)
}

func newApplier(cfg lb.Config, ledger lb.Ledger, store lb.Store) *lb.Applier {
	return lb.NewApplier(lb.ApplierOptions{
		Games: []lb.Config{cfg}, Ledger: ledger, Store: store,
		Now: fixedNow, Log: slog.New(slog.DiscardHandler),
	})
}

// fixedNow returns noon of the ledger's first day, in epoch ms.
func fixedNow() int64 { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli() }

func (c *testCluster) apply(t failingTest, node int) {
	t.Helper()
	if err := c.nodes[node].applier.Apply(t.Context(), c.cfg.Game); err != nil {
		t.Fatalf("apply: %v", err)
	}
}

// applyConcurrently calls Apply twice on every node, all at the same time.
func (c *testCluster) applyConcurrently(t failingTest) {
	t.Helper()
	var group sync.WaitGroup
	errs := make([]error, 2*len(c.nodes))
	for i := range errs {
		group.Go(func() {
			errs[i] = c.nodes[i%len(c.nodes)].applier.Apply(t.Context(), c.cfg.Game)
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatalf("concurrent apply: %v", err)
		}
	}
}

func (c *testCluster) keys(t failingTest) []string {
	t.Helper()
	return keysFor(t, c.rdb, c.cfg.Game)
}

// deleteKeys deletes all keys of the game.
func (c *testCluster) deleteKeys(t failingTest) {
	t.Helper()
	keys := c.keys(t)
	if len(keys) == 0 {
		return
	}
	if err := c.rdb.Del(t.Context(), keys...).Err(); err != nil {
		t.Fatalf("delete keys: %v", err)
	}
}

// snapshot is the content of a game's keys in Redis, except leases, which expire.
type snapshot struct {
	hashes map[string]map[string]string
	sets   map[string][]string
	zsets  map[string][]redis.Z
}

func (c *testCluster) snapshot(t failingTest) snapshot {
	t.Helper()
	saved := snapshot{map[string]map[string]string{}, map[string][]string{}, map[string][]redis.Z{}}
	for _, key := range c.keys(t) {
		kind, err := c.rdb.Type(t.Context(), key).Result()
		switch kind {
		case "hash":
			saved.hashes[key], err = c.rdb.HGetAll(t.Context(), key).Result()
		case "set":
			saved.sets[key], err = c.rdb.SMembers(t.Context(), key).Result()
		case "zset":
			saved.zsets[key], err = c.rdb.ZRangeWithScores(t.Context(), key, 0, -1).Result()
		}
		if err != nil {
			t.Fatalf("snapshot: %v", err)
		}
	}
	return saved
}

// restore writes a snapshot back to Redis.
func (c *testCluster) restore(t failingTest, saved snapshot) {
	t.Helper()
	c.deleteKeys(t)
	pipe := c.rdb.Pipeline()
	for key, fields := range saved.hashes {
		pipe.HSet(t.Context(), key, fields)
	}
	for key, members := range saved.sets {
		pipe.SAdd(t.Context(), key, members)
	}
	for key, members := range saved.zsets {
		pipe.ZAdd(t.Context(), key, members...)
	}
	if pipe.Len() == 0 {
		return
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatalf("restore: %v", err)
	}
}
