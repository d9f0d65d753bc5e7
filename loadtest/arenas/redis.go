package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"laststand/loadtest/rig"
)

// cost is what a Redis has done.
type cost struct{ reads, commands int64 }

func (c cost) less(o cost) cost { return cost{c.reads - o.reads, c.commands - o.commands} }

// costs reads what a Redis has done so far.
func costs(ctx context.Context, address string) (c cost, err error) {
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	info, err := client.Info(ctx, "stats").Result()
	for line := range strings.Lines(info) {
		_, _ = fmt.Sscanf(line, "total_reads_processed:%d", &c.reads)
		_, _ = fmt.Sscanf(line, "total_commands_processed:%d", &c.commands)
	}
	return c, err
}

// plainWatch decides as the design card says: every answer watches.
func plainWatch(ctx context.Context, s *rig.Server, o options) (outcome, error) {
	return decide(ctx, s, o, func(ctx context.Context, client *redis.Client, key string) error {
		for {
			err := client.Watch(ctx, func(tx *redis.Tx) error {
				if n, err := tx.Get(ctx, key).Int(); err != nil || n < 1 {
					return err
				}
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Decr(ctx, key).Err() })
				return err
			}, key)
			if !errors.Is(err, redis.TxFailedErr) {
				return err
			}
		}
	})
}

var decrement = redis.NewScript(`
if tonumber(redis.call('GET', KEYS[1])) < 1 then return 0 end
redis.call('DECR', KEYS[1])
return 1`)

// oneScript decides by a script that compares and decrements.
func oneScript(ctx context.Context, s *rig.Server, o options) (outcome, error) {
	return decide(ctx, s, o, func(ctx context.Context, client *redis.Client, key string) error {
		return decrement.Run(ctx, client, []string{key}).Err()
	})
}

// decide races as many goroutines as there are players for each of 40 times as
// many questions, on the server's Redis.
func decide(ctx context.Context, s *rig.Server, o options, one func(context.Context, *redis.Client, string) error) (outcome, error) {
	client := redis.NewClient(&redis.Options{Addr: s.Redis, PoolSize: 64})
	defer client.Close()
	latency := hdrhistogram.New(1, 60_000_000, 3)
	before, err := costs(ctx, s.Redis)
	if err != nil {
		return outcome{}, err
	}
	began, questions := time.Now(), 40*o.questions
	for q := range questions {
		key := fmt.Sprintf("first:%d", q)
		if err := client.Set(ctx, key, 1, time.Minute).Err(); err != nil {
			return outcome{}, err
		}
		took := make([]atomic.Int64, o.players)
		var group errgroup.Group
		for i := range o.players {
			group.Go(func() error {
				at := time.Now()
				err := one(ctx, client, key)
				took[i].Store(time.Since(at).Microseconds())
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return outcome{}, err
		}
		for i := range took {
			if err := latency.RecordValue(max(took[i].Load(), 1)); err != nil {
				return outcome{}, err
			}
		}
	}
	took := time.Since(began).Seconds()
	after, err := costs(ctx, s.Redis)
	n, spent := float64(latency.TotalCount()), after.less(before)
	return outcome{
		rate: n / took, p50: float64(latency.ValueAtQuantile(50)) / 1000, p99: float64(latency.ValueAtQuantile(99)) / 1000,
		roundTrips: float64(spent.reads) / n, commands: float64(spent.commands) / n,
	}, err
}
