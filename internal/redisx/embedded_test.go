package redisx_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/redisx"
)

// Keys of the embedded server expire. miniredis alone would keep them.
func TestEmbeddedKeysExpire(t *testing.T) {
	t.Parallel()
	client := openConn(t, "").Client
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
	first, other := openConn(t, ""), openConn(t, "")
	if err := first.Client.Set(t.Context(), "k", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := other.Client.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the second server has the key of the first: %v", err)
	}
}

// A transaction that would block the connection is refused as a whole.
func TestEmbeddedRefusesLargeTransactions(t *testing.T) {
	t.Parallel()
	client := openConn(t, "").Client
	ctx := t.Context()
	setKeys := func(commands int) error {
		_, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for i := range commands {
				p.Set(ctx, fmt.Sprint("k", i), strings.Repeat("x", 1000), 0)
			}
			return nil
		})
		return err
	}
	if err := setKeys(1000); !errors.Is(err, redisx.ErrTransactionSize) {
		t.Errorf("a megabyte: %v, want ErrTransactionSize", err)
	}
	if n := client.DBSize(ctx).Val(); n != 0 {
		t.Errorf("%d keys of a refused transaction", n)
	}
	if err := setKeys(50); err != nil {
		t.Errorf("50 kilobytes: %v", err)
	}
	if n := client.DBSize(ctx).Val(); n != 50 {
		t.Errorf("%d keys, want 50", n)
	}
}

// One large command is not split.
func TestEmbeddedStoresALargeValue(t *testing.T) {
	t.Parallel()
	client := openConn(t, "").Client
	value := strings.Repeat("v", 4<<20)
	if err := client.Set(t.Context(), "k", value, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := client.Get(t.Context(), "k").Val(); got != value {
		t.Errorf("%d bytes back of %d", len(got), len(value))
	}
}

// A pipeline in chunks behaves like one pipeline: every command runs, also after
// errors, and the caller gets the first error.
func TestEmbeddedChunksKeepErrors(t *testing.T) {
	t.Parallel()
	client := openConn(t, "").Client
	ctx := t.Context()
	cmds, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.RPush(ctx, "list", 1)
		p.Incr(ctx, "list")
		for i := range 300 {
			p.Set(ctx, fmt.Sprint("k", i), strings.Repeat("x", 1000), 0)
		}
		p.Get(ctx, "none")
		return nil
	})
	if !redis.HasErrorPrefix(err, "WRONGTYPE") {
		t.Errorf("the first error: %v", err)
	}
	for i, cmd := range cmds {
		mustFail := i == 1 || i == len(cmds)-1
		if (cmd.Err() != nil) != mustFail {
			t.Errorf("command %d: %v", i, cmd.Err())
		}
	}
}
