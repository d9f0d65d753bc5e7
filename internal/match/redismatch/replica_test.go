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

// A first waits for a replica. If none confirms in time, it is announced anyway
// and counted.
func TestAFirstWaitsForAReplica(t *testing.T) {
	t.Parallel()
	master, replica := testenv.Redis(t), testenv.Redis(t)
	c := redis.NewClient(&redis.Options{Addr: master.Addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { c.Close() })
	var replicated atomic.Bool
	var unconfirmed atomic.Int64
	p := begin(t, c, arenaPlan(match.Buzzer), lobbyState())
	p.Store = New(c, c, ConfirmByReplica(replicated.Load, func() { unconfirmed.Add(1) }))
	p.seat("p_ada", "p_bob")
	check := func(s match.State, want int64) {
		t.Helper()
		p.race(p.first(s, "p_ada", 10), match.Accepted)
		if n := unconfirmed.Load(); n != want {
			t.Errorf("%d unconfirmed, want %d", n, want)
		}
	}
	check(p.start(), 0) // the option reports no replicas
	replicated.Store(true)
	check(p.next(), 1) // there is no replica

	r := redis.NewClient(&redis.Options{Addr: replica.Addr})
	t.Cleanup(func() { r.Close() })
	host, port, _ := net.SplitHostPort(master.Addr)
	if err := r.ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); c.Wait(t.Context(), 1, 100*time.Millisecond).Val() < 1; {
		if time.Now().After(deadline) {
			t.Fatal("the replica does not follow")
		}
	}
	open := p.next()
	for c.Wait(t.Context(), 1, time.Second).Val() < 1 { // it has everything so far
		t.Log("the replica is behind")
	}
	check(open, 1)
	if got := r.HGet(t.Context(), p.keys.match(), "phase").Val(); got != "sealed" {
		t.Errorf("the replica stands at %q", got)
	}
}
