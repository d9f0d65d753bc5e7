package redisboard_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/leaderboard/redisboard"
)

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}

// mixed has every order in a ranking of its own.
func mixed() lb.Config {
	return lb.Config{
		Game:       "g" + strings.ToLower(rand.Text()[:12]),
		Windows:    []lb.Window{lb.All, lb.Day, "7d"},
		Orders:     lb.Orders(),
		Weights:    lb.Weights{Score: 2, Accuracy: 3, Speed: 1, Matches: 50},
		MinAnswers: 4,
		Location:   time.UTC,
	}
}

func plain() lb.Config {
	cfg := mixed()
	cfg.Weights = lb.DefaultWeights
	return cfg
}

// world is one game with nodes of its own on a Redis.
type world struct {
	cfg    lb.Config
	rdb    redis.UniversalClient
	ledger *ledger
	nodes  []node
}

// node is what one server has of its own.
type node struct {
	store   *redisboard.Store
	applier *lb.Applier
	reader  *lb.Reader
}

func newWorld(rdb redis.UniversalClient, cfg lb.Config, nodes int) *world {
	w := &world{cfg: cfg, rdb: rdb, ledger: newLedger()}
	for range nodes {
		w.nodes = append(w.nodes, w.node(cfg))
	}
	return w
}

func (w *world) node(cfg lb.Config, options ...redisboard.Option) node {
	store := redisboard.New(w.rdb, options...)
	return node{
		store:   store,
		applier: applier(cfg, w.ledger, store),
		reader:  lb.NewReader(store, fixedNow, cfg),
	}
}

// applierOn is one on a store that stands before the real one.
func (w *world) applierOn(store lb.Store) *lb.Applier { return applier(w.cfg, w.ledger, store) }

func applier(cfg lb.Config, ledger lb.Ledger, store lb.Store) *lb.Applier {
	return lb.NewApplier(lb.ApplierOptions{
		Games: []lb.Config{cfg}, Ledger: ledger, Store: store,
		Now: fixedNow, Log: slog.New(slog.DiscardHandler),
	})
}

// fixedNow is noon of the ledger's first day.
func fixedNow() int64 { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli() }

func (w *world) apply(t failer, node int) {
	t.Helper()
	if err := w.nodes[node].applier.Apply(t.Context(), w.cfg.Game); err != nil {
		t.Fatalf("apply: %v", err)
	}
}

// keys lists all keys of the game.
func (w *world) keys(t failer) []string {
	t.Helper()
	var keys []string
	scan := func(ctx context.Context, c redis.Cmdable) error {
		it := c.Scan(ctx, 0, "{b:"+w.cfg.Game+"}:*", 1000).Iterator()
		for it.Next(ctx) {
			keys = append(keys, it.Val())
		}
		return it.Err()
	}
	var err error
	if cluster, ok := w.rdb.(*redis.ClusterClient); ok {
		var master *redis.Client
		if master, err = cluster.MasterForKey(t.Context(), "{b:"+w.cfg.Game+"}"); err == nil {
			err = scan(t.Context(), master)
		}
	} else {
		err = scan(t.Context(), w.rdb)
	}
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	return keys
}

// flush loses all of the game.
func (w *world) flush(t failer) {
	t.Helper()
	keys := w.keys(t)
	if len(keys) == 0 {
		return
	}
	if err := w.rdb.Del(t.Context(), keys...).Err(); err != nil {
		t.Fatalf("flush: %v", err)
	}
}

// snapshot is what a game's keys held.
type snapshot struct {
	hashes map[string]map[string]string
	sets   map[string][]string
	zsets  map[string][]redis.Z
}

func (w *world) snapshot(t failer) snapshot {
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
		default:
			t.Fatalf("key %s is a %q", key, kind)
		}
		if err != nil {
			t.Fatalf("snapshot: %v", err)
		}
	}
	return s
}

// restore brings the Redis back to a snapshot.
func (w *world) restore(t failer, s snapshot) {
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
