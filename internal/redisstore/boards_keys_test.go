package redisstore_test

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func (s *storeFixture) allKeys(t failingTest) []string {
	t.Helper()
	return keysFor(t, s.rdb, s.cfg.Game)
}

// keysFor lists all keys of a game.
func keysFor(t failingTest, rdb redis.UniversalClient, game string) []string {
	t.Helper()
	var keys []string
	scan := func(ctx context.Context, client redis.Cmdable) error {
		it := client.Scan(ctx, 0, "{b:"+game+"}:*", 1000).Iterator()
		for it.Next(ctx) {
			keys = append(keys, it.Val())
		}
		return it.Err()
	}
	var err error
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		var master *redis.Client
		if master, err = cluster.MasterForKey(t.Context(), "{b:"+game+"}"); err == nil {
			err = scan(t.Context(), master)
		}
	} else {
		err = scan(t.Context(), rdb)
	}
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	return keys
}

// failingTest is what testing.T and rapid.T have in common.
type failingTest interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}
