package redisx_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

// Keys of the embedded server expire. miniredis alone would keep them.
func TestEmbeddedKeysExpire(t *testing.T) {
	t.Parallel()
	client := testenv.OpenRedis(t, "").Client
	ctx := t.Context()
	if err := client.Set(ctx, "lasting", 1, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Set(ctx, "brief", 1, 150*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for client.Exists(ctx, "brief").Val() != 0 {
		if time.Now().After(deadline) {
			t.Fatal("the key does not expire")
		}
		time.Sleep(5 * time.Millisecond) // the embedded server uses the real clock
	}
	remaining := client.PTTL(ctx, "lasting").Val()
	if remaining <= time.Hour-time.Minute || remaining >= time.Hour {
		t.Errorf("a key with a TTL of an hour has %s left", remaining)
	}
}

func TestEmbeddedServersAreSeparate(t *testing.T) {
	t.Parallel()
	first, other := testenv.OpenRedis(t, ""), testenv.OpenRedis(t, "")
	if err := first.Client.Set(t.Context(), "k", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := other.Client.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the second server has the key of the first: %v", err)
	}
}

// A transaction or pipeline of any size does not block the connection.
func TestEmbeddedRunsLargeTransactions(t *testing.T) {
	t.Parallel()
	client := testenv.OpenRedis(t, "").Client
	ctx := t.Context()
	for name, run := range map[string]func(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error){
		"pipeline": client.Pipelined, "transaction": client.TxPipelined,
	} {
		commands, err := run(ctx, func(p redis.Pipeliner) error {
			for i := range 2000 {
				p.SetArgs(ctx, fmt.Sprint(name, i), strings.Repeat("x", 1000), redis.SetArgs{Get: true})
				p.Get(ctx, fmt.Sprint(name, i))
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Errorf("%s: %v", name, err)
		}
		for i, command := range commands {
			if isGet := i%2 == 1; isGet && command.Err() != nil {
				t.Fatalf("%s: command %d: %v", name, i, command.Err())
			}
		}
	}
	if n := client.DBSize(ctx).Val(); n != 4000 {
		t.Errorf("%d keys, want 4000", n)
	}
}

func TestEmbeddedStoresALargeValue(t *testing.T) {
	t.Parallel()
	client := testenv.OpenRedis(t, "").Client
	value := strings.Repeat("v", 4<<20)
	if err := client.Set(t.Context(), "k", value, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := client.Get(t.Context(), "k").Val(); got != value {
		t.Errorf("%d bytes back of %d", len(got), len(value))
	}
}

// A connection whose caller gives up fails, and the next one works.
func TestEmbeddedWorksAfterATimeout(t *testing.T) {
	t.Parallel()
	client := testenv.OpenRedis(t, "").Client
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := client.BLPop(ctx, 0, "empty").Err(); !errors.Is(err, context.DeadlineExceeded) && !os.IsTimeout(err) {
		t.Errorf("a call that waits for a list: %v", err)
	}
	if err := client.Set(t.Context(), "k", 1, 0).Err(); err != nil {
		t.Error(err)
	}
}
