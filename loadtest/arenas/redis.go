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

	"laststand/loadtest/harness"
)

// cost is the work of a server, of its Redis and of the machine.
type cost struct {
	reads, commands int64 // of Redis
	cpu             harness.CPU
	machine         harness.Machine
}

func (c cost) less(o cost) cost {
	return cost{c.reads - o.reads, c.commands - o.commands, c.cpu.Less(o.cpu), c.machine.Less(o.machine)}
}

// each divides the cost by the number of answers.
func (c cost) each(n float64) outcome {
	part := func(d time.Duration) time.Duration { return time.Duration(float64(d) / n) }
	m := c.machine
	of := func(d time.Duration) float64 { return 100 * float64(d) / float64(max(m.Busy+m.Idle, 1)) }
	return outcome{
		idle: of(m.Idle), soft: of(m.Soft), stolen: of(m.Stolen),
		roundTrips: float64(c.reads) / n, commands: float64(c.commands) / n,
		cpu: harness.CPU{Server: part(c.cpu.Server), Redis: part(c.cpu.Redis), Clients: part(c.cpu.Clients)},
	}
}

// costs reads the work of a server and its Redis so far.
func costs(ctx context.Context, s *harness.Server) (c cost, err error) {
	if c.cpu, err = s.CPU(); err != nil {
		return c, err
	}
	if c.machine, err = harness.ReadMachine(); err != nil {
		return c, err
	}
	client := redis.NewClient(&redis.Options{Addr: s.Redis})
	defer client.Close()
	info, err := client.Info(ctx, "stats").Result()
	for line := range strings.Lines(info) {
		_, _ = fmt.Sscanf(line, "total_reads_processed:%d", &c.reads)
		_, _ = fmt.Sscanf(line, "total_commands_processed:%d", &c.commands)
	}
	return c, err
}

// plainWatch decides as the design card says: every answer uses WATCH.
func plainWatch(ctx context.Context, s *harness.Server, o options) (outcome, error) {
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

// oneScript decides with a script that compares and decrements.
func oneScript(ctx context.Context, s *harness.Server, o options) (outcome, error) {
	return decide(ctx, s, o, func(ctx context.Context, client *redis.Client, key string) error {
		return decrement.Run(ctx, client, []string{key}).Err()
	})
}

// decide runs one goroutine per player. They race for each question, and there are 40
// times as many questions as in a match. It uses the server's Redis.
func decide(ctx context.Context, s *harness.Server, o options, one func(context.Context, *redis.Client, string) error) (outcome, error) {
	client := redis.NewClient(&redis.Options{Addr: s.Redis, PoolSize: 64})
	defer client.Close()
	latency := hdrhistogram.New(1, 60_000_000, 3)
	before, err := costs(ctx, s)
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
	after, err := costs(ctx, s)
	return sum(latency, took, after.less(before)), err
}
