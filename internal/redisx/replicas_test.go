package redisx_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

func TestHasReplicasFindsAReplica(t *testing.T) {
	t.Parallel()
	master := testenv.Redis(t)
	conn := open(t, master.URL)
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
	if !open(t, master.URL).HasReplicas() {
		t.Error("HasReplicas is false after the start with a replica")
	}
	replica.Stop()
	waitUntil(t, "HasReplicas to be false", func() bool { conn.CheckReplicas(t.Context()); return !conn.HasReplicas() })

	master.Stop()
	conn.CheckReplicas(t.Context())
	if conn.HasReplicas() {
		t.Error("who does not answer has a replica")
	}
}

// One master of a cluster is enough.
func TestHasReplicasNeedsOneReplicaInACluster(t *testing.T) {
	t.Parallel()
	nodes := testenv.StartCluster(t, 2, 1)
	conn := open(t, nodes.URL)
	if !conn.HasReplicas() {
		t.Error("does not see the replica")
	}
	nodes.Masters[1].Kill()
	conn.CheckReplicas(t.Context())
	if !conn.HasReplicas() {
		t.Error("has forgotten the replica of the other")
	}
}

func TestHasReplicasIsFalseWithoutAReplica(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, conn *redisx.Conn, _ string) {
		if conn.HasReplicas() {
			t.Error("replicated")
		}
	})
}
