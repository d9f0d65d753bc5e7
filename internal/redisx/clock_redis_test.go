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

// clock makes one that runs until the test ends.
func clock(t *testing.T, conn *redisx.Conn, maxAge time.Duration) *redisx.Clock {
	t.Helper()
	c, err := redisx.NewClock(t.Context(), conn, redisx.ClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c.SetMaxAge(maxAge)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }() // waited for below
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return c
}

// All these servers have this machine's clock, so cluster time is that but for
// what the clock itself says it may be off.
func TestClockOfEachKind(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, conn *redisx.Conn, _ string) {
		c := clock(t, conn, time.Minute)
		for range 100 {
			between(t, c, func() int64 { return time.Now().UnixMilli() })
		}
		if c.Slack() < 100 && c.Ready(t.Context()) != nil {
			t.Error(c.Ready(t.Context()))
		}
	})
}

func TestClockAgreesWithItsServer(t *testing.T) {
	t.Parallel()
	conn := open(t, testenv.Redis(t).URL)
	c := clock(t, conn, time.Minute)
	for range 100 {
		between(t, c, func() int64 { return conn.Client.Time(t.Context()).Val().UnixMilli() })
	}
}

// between checks that another clock, read between two looks at this one, says
// what is between them.
func between(t *testing.T, c *redisx.Clock, read func() int64) {
	t.Helper()
	slack, before := c.Slack(), c.Now()
	told := read()
	after := c.Now()
	slack = max(slack, c.Slack())
	if told < before-slack || told > after+slack {
		t.Errorf("%d is not between %d and %d, give or take %d", told, before, after, slack)
	}
}

func TestClockOfAStalledServer(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	c := clock(t, open(t, server.URL), 2*time.Second)
	server.Pause()
	await(t, "not ready", func() bool { return errors.Is(c.Ready(t.Context()), redisx.ErrClock) })
	server.Resume()
	await(t, "ready again", func() bool { return c.Ready(t.Context()) == nil })
}

// A replica has a clock as well, which is not asked.
func TestClockOfAReplica(t *testing.T) {
	t.Parallel()
	conn := open(t, testenv.Redis(t).URL)
	host, port, _ := strings.Cut(testenv.Redis(t).Addr, ":")
	if err := conn.Client.SlaveOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := redisx.NewClock(ctx, conn, redisx.ClockConfig{}); !redis.HasErrorPrefix(errors.Unwrap(err), "READONLY") {
		t.Errorf("of a replica: %v", err)
	}
	if err := conn.Client.SlaveOf(t.Context(), "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := redisx.NewClock(t.Context(), conn, redisx.ClockConfig{}); err != nil {
		t.Errorf("of the promoted: %v", err)
	}
}

// The one reference of a cluster is the master of the key `clock`, whoever that
// is by now. The key's slot, in which nobody has keys, moves there and back.
func TestClockFollowsItsMaster(t *testing.T) {
	t.Parallel()
	conn := open(t, testenv.Cluster(t))
	cluster := conn.Client.(*redis.ClusterClient)
	owner, other := masters(t, cluster, "clock")
	before, never := calls(t, owner, "time"), calls(t, other, "time")
	c := clock(t, conn, 10*time.Second)
	await(t, "the owner is asked", func() bool { return calls(t, owner, "time") > before })
	if n := calls(t, other, "time") - never; n != 0 {
		t.Errorf("another master was asked %d times", n)
	}
	moveSlot(t, other, "clock", owner, other)
	defer moveSlot(t, owner, "clock", owner, other)
	await(t, "the next owner is asked", func() bool { return calls(t, other, "time") > never+1 })
	if err := c.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// calls is how often a server was given a command.
func calls(t *testing.T, server redis.UniversalClient, command string) int {
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

// await looks until it is so, as real servers take real time.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !so() {
		if time.Now().After(deadline) {
			t.Fatalf("never %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
