package redismatch

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/testenv"
)

// CommitIfFirst waits until a replica has confirmed the first answer. If none confirms
// in time, the answer is announced anyway and counted.
func TestFirstAnswerWaitsForReplica(t *testing.T) {
	t.Parallel()
	master, replica := testenv.Redis(t), testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: master.Addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	var replicated atomic.Bool
	var unconfirmed atomic.Int64
	m := newTestMatch(t, client, arenaPlan(match.Buzzer), lobbyState())
	m.Store = New(client, client)
	m.ConfirmByReplica(replicated.Load, func() { unconfirmed.Add(1) })
	m.addSeats("p_ada", "p_bob")
	checkUnconfirmed := func(state match.State, want int64) {
		t.Helper()
		first := m.firstAttempt(state, "p_ada", 10)
		m.commitIfFirst(first, match.VerdictAccepted)
		m.commitIfFirst(first, match.VerdictAccepted) // again, because the reply was lost
		if count := unconfirmed.Load(); count != want {
			t.Errorf("%d unconfirmed, want %d", count, want)
		}
	}
	checkUnconfirmed(m.startArena(), 0) // the option reports no replicas
	replicated.Store(true)
	checkUnconfirmed(m.openNextQuestion(), 2) // there is no replica

	replicaClient := redis.NewClient(&redis.Options{Addr: replica.Addr})
	t.Cleanup(func() { replicaClient.Close() })
	host, port, _ := net.SplitHostPort(master.Addr)
	if err := replicaClient.ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); client.Wait(t.Context(), 1, 100*time.Millisecond).Val() < 1; {
		if time.Now().After(deadline) {
			t.Fatal("the replica does not follow")
		}
	}
	open := m.openNextQuestion()
	for client.Wait(t.Context(), 1, time.Second).Val() < 1 { // the replica has all writes so far
		t.Log("the replica is behind")
	}
	checkUnconfirmed(open, 2)
	if got := replicaClient.HGet(t.Context(), m.keys.match(), "phase").Val(); got != "sealed" {
		t.Errorf("the replica has phase %q", got)
	}
}
