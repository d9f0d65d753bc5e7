package redisx_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

func TestHasReplicasFindsAReplica(t *testing.T) {
	t.Parallel()
	master := testenv.Redis(t)
	conn := testenv.OpenRedis(t, master.URL)
	if conn.HasReplicas() {
		t.Error("HasReplicas is true without a replica")
	}
	replica := testenv.Replica(t, master)
	conn.CheckReplicas(t.Context())
	if !conn.HasReplicas() {
		t.Error("HasReplicas is false with a replica")
	}
	if acks := conn.Client.(*redis.Client).Wait(t.Context(), 1, time.Second).Val(); acks != 1 {
		t.Errorf("%d replicas acknowledge", acks)
	}
	if !testenv.OpenRedis(t, master.URL).HasReplicas() {
		t.Error("HasReplicas is false after the start with a replica")
	}
	replica.Stop()
	waitUntil(t, "HasReplicas is false", func() bool { conn.CheckReplicas(t.Context()); return !conn.HasReplicas() })

	master.Stop()
	conn.CheckReplicas(t.Context())
	if conn.HasReplicas() {
		t.Error("HasReplicas is true for a server that does not answer")
	}
}

// HasReplicas is true for a cluster if one of its masters has a replica.
func TestHasReplicasNeedsOneReplicaInACluster(t *testing.T) {
	t.Parallel()
	nodes := testenv.StartCluster(t, 2, 1)
	conn := testenv.OpenRedis(t, nodes.URL)
	if !conn.HasReplicas() {
		t.Error("HasReplicas is false with one replica")
	}
	nodes.Masters[1].Kill()
	conn.CheckReplicas(t.Context())
	if !conn.HasReplicas() {
		t.Error("HasReplicas is false after the master without a replica was killed")
	}
}
