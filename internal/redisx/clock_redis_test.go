package redisx_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

// newRunningClock returns a clock that runs until the test ends.
func newRunningClock(t *testing.T, conn *redisx.Conn) *redisx.Clock {
	t.Helper()
	clock, err := redisx.NewClock(t.Context(), conn, redisx.ClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	testenv.Run(t, clock.Run)
	return clock
}

// All these servers use this machine's clock. So cluster time differs from it by at most the
// uncertainty.
func TestClockEqualsTheWallClockForEachKind(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, conn *redisx.Conn, _ string) {
		clock := newRunningClock(t, conn)
		for range 100 {
			checkBetween(t, clock, func() int64 { return time.Now().UnixMilli() })
		}
		if clock.Slack() < 100 && clock.Ready(t.Context()) != nil {
			t.Error(clock.Ready(t.Context()))
		}
	})
}

func TestClockAgreesWithItsServer(t *testing.T) {
	t.Parallel()
	conn := testenv.OpenRedis(t, testenv.Redis(t).URL)
	clock := newRunningClock(t, conn)
	for range 100 {
		checkBetween(t, clock, func() int64 { return conn.Client.Time(t.Context()).Val().UnixMilli() })
	}
}

// checkBetween checks that another clock, read between two calls of Now, is between
// them.
func checkBetween(t *testing.T, clock *redisx.Clock, read func() int64) {
	t.Helper()
	slack, before := clock.Slack(), clock.Now()
	answered := read()
	after := clock.Now()
	slack = max(slack, clock.Slack())
	if answered < before-slack || answered > after+slack {
		t.Errorf("%d is not between %d and %d, with an uncertainty of %d", answered, before, after, slack)
	}
}

// The clock of a replica is not used.
func TestTheClockOfAReplicaIsNotUsed(t *testing.T) {
	t.Parallel()
	conn := testenv.OpenRedis(t, testenv.Redis(t).URL)
	host, port, _ := strings.Cut(testenv.Redis(t).Addr, ":")
	if err := conn.Client.SlaveOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := redisx.NewClock(ctx, conn, redisx.ClockConfig{}); !redis.HasErrorPrefix(errors.Unwrap(err), "READONLY") {
		t.Errorf("a clock of a replica: %v", err)
	}
	if err := conn.Client.SlaveOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := redisx.NewClock(t.Context(), conn, redisx.ClockConfig{}); err != nil {
		t.Errorf("a clock of a promoted replica: %v", err)
	}
}

// The reference of a cluster is the current master of the key `clock`. The test moves
// the key's slot, which has no other keys, to another master and back.
func TestClockFollowsTheMasterOfItsKey(t *testing.T) {
	t.Parallel()
	conn := testenv.OpenRedis(t, testenv.Cluster(t))
	cluster := conn.Client.(*redis.ClusterClient)
	owner, other := ownerAndOther(t, cluster, "clock")
	ownerBefore, otherBefore := commandCalls(t, owner, "time"), commandCalls(t, other, "time")
	clock := newRunningClock(t, conn)
	waitUntil(t, "the owner is read", func() bool { return commandCalls(t, owner, "time") > ownerBefore })
	if n := commandCalls(t, other, "time") - otherBefore; n != 0 {
		t.Errorf("another master was read %d times", n)
	}
	moveSlot(t, other, "clock", owner, other)
	defer moveSlot(t, owner, "clock", owner, other)
	waitUntil(t, "the next owner is read", func() bool { return commandCalls(t, other, "time") > otherBefore+1 })
	// After a reading that takes over 200 ms on a busy machine, the clock is not ready until the next.
	waitUntil(t, "the clock is ready", func() bool { return clock.Ready(t.Context()) == nil })
}

// commandCalls returns how often a server has run a command.
func commandCalls(t *testing.T, server redis.UniversalClient, command string) int {
	info, err := server.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(info, "cmdstat_"+command+":calls=")
	if !found {
		return 0
	}
	digits, _, _ := strings.Cut(rest, ",")
	n := 0
	for _, digit := range digits {
		n = 10*n + int(digit-'0')
	}
	return n
}

// waitUntil waits for a condition, which name describes. It polls, because real servers take
// real time.
func waitUntil(t *testing.T, name string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long until %s", name)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
