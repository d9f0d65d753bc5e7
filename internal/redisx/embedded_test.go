package redisx_test

import (
	"context"
	"errors"
	"os"
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
