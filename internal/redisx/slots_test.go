package redisx_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// ownerAndOther returns the master that owns a key, and another one.
func ownerAndOther(t *testing.T, cluster *redis.ClusterClient, key string) (owner, other *redis.Client) {
	owner, err := cluster.MasterForKey(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		master, err := cluster.MasterForKey(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if master != owner {
			return owner, master
		}
	}
	t.Fatal("all keys belong to one master")
	return nil, nil
}

// moveSlot moves the slot of a key, which is empty, to the master target. It also tells masterA
// and masterB the new owner.
func moveSlot(t *testing.T, target *redis.Client, key string, masterA, masterB *redis.Client) {
	t.Helper()
	id := target.Do(t.Context(), "CLUSTER", "MYID").Val()
	target.Do(t.Context(), "CLUSTER", "BUMPEPOCH") // so that its claim wins over messages of the other master
	for _, node := range []*redis.Client{target, masterA, masterB} {
		slot := node.ClusterKeySlot(t.Context(), key).Val()
		err := node.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", id).Err()
		for i := 0; err != nil && strings.Contains(err.Error(), "hold keys") && i < 100; i++ { // clocks of other tests still write the key
			node.Del(t.Context(), key)
			err = node.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", id).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
