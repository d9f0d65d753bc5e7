package redisboard_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

// A promoted replica may lack acknowledged transactions, also evictions and the start of a
// day. Its boards continue from their own watermark.
func TestALaggingReplicaIsPromoted(t *testing.T) {
	t.Parallel()
	master := testenv.Redis(t)
	replica := testenv.Replica(t, master)
	before, after := clientOf(t, master), clientOf(t, replica)
	w := newTestCluster(before, mixedConfig(), 1)
	for range 9 {
		w.addResults()
		w.ledger.startDay()
	}
	w.apply(t, 0)
	if n, err := before.Do(t.Context(), "WAIT", 1, 10_000).Int(); err != nil || n != 1 {
		t.Fatalf("%d replicas have the boards: %v", n, err)
	}
	if err := after.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	w.addResults()
	w.ledger.startDay()
	w.addResults()
	w.apply(t, 0)
	w.checkAll(t, 0, 2)

	w.rdb = after
	w.nodes = append(w.nodes, w.node(w.cfg))
	if page := w.page(t, 1, lb.Query{Window: lb.All}); page.Total == 0 {
		t.Fatal("the promoted replica has no boards")
	}
	w.apply(t, 1)
	w.checkAll(t, 1, 2)
}

func clientOf(t *testing.T, s *testenv.Server) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
