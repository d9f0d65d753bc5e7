package redisx_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// eachKind runs a test on a connection of each kind. The test must start its keys with prefix,
// which puts them into one slot and is unique, because all tests share the cluster.
func eachKind(t *testing.T, test func(t *testing.T, conn *redisx.Conn, prefix string)) {
	t.Run(redisx.KindEmbedded, func(t *testing.T) { test(t, testenv.OpenRedis(t, ""), "{e}") })
	t.Run(redisx.KindSingle, func(t *testing.T) { test(t, testenv.OpenRedis(t, testenv.Redis(t).URL), "{s}") })
	t.Run(redisx.KindCluster, func(t *testing.T) { test(t, testenv.OpenRedis(t, testenv.Cluster(t)), "{"+rand.Text()+"}") })
}

// clients returns the clients of a connection by name. The embedded server has only one.
func clients(conn *redisx.Conn) map[string]redis.UniversalClient {
	if conn.Kind == redisx.KindEmbedded {
		return map[string]redis.UniversalClient{"client": conn.Client}
	}
	return map[string]redis.UniversalClient{"client": conn.Client, "pipelined": conn.Pipelined, "bulk": conn.Bulk}
}

func TestOpenSetsTheKind(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, conn *redisx.Conn, _ string) {
		if !strings.HasSuffix(t.Name(), "/"+conn.Kind) {
			t.Errorf("kind %q", conn.Kind)
		}
	})
}

// A pipeline or transaction of any size does not block its connection.
func TestLargePipelinesAreAnswered(t *testing.T) {
	t.Parallel()
	kilobyte := strings.Repeat("x", 1000)
	eachKind(t, func(t *testing.T, conn *redisx.Conn, prefix string) {
		for name, client := range clients(conn) {
			for _, run := range []func(context.Context, func(redis.Pipeliner) error) ([]redis.Cmder, error){client.Pipelined, client.TxPipelined} {
				cmds, err := run(t.Context(), func(p redis.Pipeliner) error {
					for i := range 2000 {
						p.Set(t.Context(), fmt.Sprint(prefix, i), kilobyte, time.Minute)
						p.Get(t.Context(), fmt.Sprint(prefix, i))
					}
					return nil
				})
				if err != nil || len(cmds) != 4000 {
					t.Fatalf("%s: %d commands, %v", name, len(cmds), err)
				}
				for _, cmd := range cmds {
					if got, ok := cmd.(*redis.StringCmd); ok && got.Val() != kilobyte {
						t.Fatalf("%s: %v", name, got.Err())
					}
				}
			}
		}
	})
}

// Each of many concurrent callers gets the answer to its own command.
func TestEachCallerGetsItsOwnReply(t *testing.T) {
	t.Parallel()
	double := redis.NewScript("return {KEYS[1], 2 * ARGV[1]}")
	eachKind(t, func(t *testing.T, conn *redisx.Conn, prefix string) {
		for name, client := range clients(conn) {
			var callers sync.WaitGroup
			for caller := range 256 {
				callers.Go(func() {
					for call := range 4 {
						n := int64(caller*10 + call)
						key := fmt.Sprint(prefix, n)
						got, err := double.Run(t.Context(), client, []string{key}, n).Slice()
						if err != nil || got[0] != key || got[1] != 2*n {
							t.Errorf("%s: %d: %v, %v", name, n, got, err)
						}
					}
				})
			}
			callers.Wait()
		}
	})
}

// An error goes only to the caller of its command, although callers share a round
// trip.
func TestErrorsStayWithTheirCommand(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, conn *redisx.Conn, prefix string) {
		ctx := t.Context()
		if err := conn.Client.RPush(ctx, prefix+"list", 1).Err(); err != nil {
			t.Fatal(err)
		}
		set := redis.NewScript("return redis.call('SET', KEYS[1], ARGV[1])")
		get := redis.NewScript("return redis.call('GET', KEYS[1])")
		incr := redis.NewScript("return redis.call('INCR', KEYS[1])")
		returnError := redis.NewScript(`return redis.error_reply("MINE " .. ARGV[1])`)
		var callers sync.WaitGroup
		for name, client := range clients(conn) {
			for i := range 64 {
				callers.Go(func() {
					if err := set.Run(ctx, client, []string{fmt.Sprint(prefix, i)}, i).Err(); err != nil {
						t.Errorf("%s: set: %v", name, err)
					}
					if err := incr.Run(ctx, client, []string{prefix + "list"}).Err(); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
						t.Errorf("%s: incr of a list: %v", name, err)
					}
					if err := get.Run(ctx, client, []string{prefix + "none"}).Err(); !errors.Is(err, redis.Nil) {
						t.Errorf("%s: get of nothing: %v", name, err)
					}
					err := returnError.Run(ctx, client, []string{prefix}, i).Err()
					if want := fmt.Sprintf("MINE %d", i); err == nil || err.Error() != want {
						t.Errorf("%s: script: %v, want %s", name, err, want)
					}
				})
			}
		}
		callers.Wait()
	})
}

// A server forgets its scripts when it restarts. Then the client sends them again.
func TestScriptsAreSentAgainAfterARestart(t *testing.T) {
	t.Parallel()
	count := redis.NewScript("return redis.call('INCR', KEYS[1])")
	eachKind(t, func(t *testing.T, conn *redisx.Conn, prefix string) {
		for name, client := range clients(conn) {
			for want := range int64(3) {
				if err := conn.Client.ScriptFlush(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				got, err := count.Run(t.Context(), client, []string{prefix + name}).Int64()
				if err != nil || got != want+1 {
					t.Errorf("%s: %d, %v, want %d", name, got, err, want+1)
				}
			}
		}
	})
}

func TestWatchWorksOnAllClients(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, conn *redisx.Conn, prefix string) {
		for name, client := range clients(conn) {
			key := prefix + name
			setOnce := func(beforeExec func()) error {
				return client.Watch(t.Context(), func(tx *redis.Tx) error {
					if err := tx.Get(t.Context(), key).Err(); !errors.Is(err, redis.Nil) {
						return fmt.Errorf("the key exists already: %w", err)
					}
					beforeExec()
					_, err := tx.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
						p.Set(t.Context(), key, "mine", 0)
						return nil
					})
					return err
				}, key)
			}
			raceErr := setOnce(func() { conn.Pipelined.Set(t.Context(), key, "theirs", 0) })
			if !errors.Is(raceErr, redis.TxFailedErr) {
				t.Errorf("%s: %v, want TxFailedErr", name, raceErr)
			}
			conn.Client.Del(t.Context(), key)
			if err := setOnce(func() {}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A caller whose context ends does not wait for a stalled server.
func TestACallReturnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	conn := testenv.OpenRedis(t, server.URL)
	script := redis.NewScript("return redis.call('SET', KEYS[1], ARGV[1])")
	for name, client := range clients(conn) {
		if err := script.Run(t.Context(), client, []string{"k"}, "before").Err(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	server.Pause()
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := conn.Client.Get(ctx, "k").Err(); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("client: %v, want DeadlineExceeded", err)
			}
		})
		for name, client := range map[string]redis.UniversalClient{"pipelined": conn.Pipelined, "bulk": conn.Bulk} {
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				if err := script.Run(ctx, client, []string{"k"}, "late").Err(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v, want DeadlineExceeded", name, err)
				}
			})
		}
	}
	callers.Wait()
	server.Resume()
	for name, client := range clients(conn) {
		if err := script.Run(t.Context(), client, []string{name}, "after").Err(); err != nil {
			t.Errorf("%s after the stall: %v", name, err)
		}
	}
}

// A call whose context has ended sends nothing.
func TestAnEndedContextSendsNothing(t *testing.T) {
	t.Parallel()
	script := redis.NewScript("return redis.call('SET', KEYS[1], 1)")
	eachKind(t, func(t *testing.T, conn *redisx.Conn, prefix string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, client := range clients(conn) {
			if err := script.Run(ctx, client, []string{prefix}).Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want canceled", name, err)
			}
		}
		if n := conn.Client.Exists(t.Context(), prefix).Val(); n != 0 {
			t.Error("the script ran")
		}
	})
}

func TestCommandsSucceedAfterARestart(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	conn := testenv.OpenRedis(t, server.URL)
	get := redis.NewScript("return redis.call('GET', KEYS[1])")
	set := redis.NewScript("return redis.call('SET', KEYS[1], 1)")
	server.Kill()
	for name, client := range clients(conn) {
		if err := get.Run(t.Context(), client, []string{"k"}).Err(); err == nil || errors.Is(err, redis.Nil) {
			t.Errorf("%s of a killed server: %v", name, err)
		}
	}
	server.Restart()
	for name, client := range clients(conn) {
		if err := set.Run(t.Context(), client, []string{"k"}).Err(); err != nil {
			t.Errorf("%s after the restart: %v", name, err)
		}
	}
}

func TestCommandsFailAfterClose(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, conn *redisx.Conn, prefix string) {
		for range 2 {
			if err := conn.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		for name, client := range clients(conn) {
			if err := client.EvalSha(t.Context(), "0", []string{prefix}).Err(); !errors.Is(err, redis.ErrClosed) {
				t.Errorf("%s after close: %v", name, err)
			}
		}
	})
}
