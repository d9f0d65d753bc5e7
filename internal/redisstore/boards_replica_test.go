package redisstore_test

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
	masterClient, replicaClient := newClient(t, master), newClient(t, replica)
	cluster := newTestCluster(masterClient, mixedConfig(), 1)
	for range 9 {
		cluster.addResults()
		cluster.ledger.startDay()
	}
	cluster.apply(t, 0)
	if n, err := masterClient.Do(t.Context(), "WAIT", 1, 10_000).Int(); err != nil || n != 1 {
		t.Fatalf("%d replicas have the boards: %v", n, err)
	}
	testenv.NoError(t, replicaClient.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	cluster.addResults()
	cluster.ledger.startDay()
	cluster.addResults()
	cluster.apply(t, 0)
	cluster.checkAll(t, 0, 2)

	cluster.rdb = replicaClient
	cluster.nodes = append(cluster.nodes, cluster.newNode(cluster.cfg))
	if page := cluster.page(t, 1, lb.Query{Window: lb.All}); page.Total == 0 {
		t.Fatal("the promoted replica has no boards")
	}
	cluster.apply(t, 1)
	cluster.checkAll(t, 1, 2)
}

func newClient(t *testing.T, server *testenv.Server) *redis.Client {
	t.Helper()
	options := testenv.Need(redis.ParseURL(server.URL))(t)
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
