package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// measure runs a server and producers in this process.
func measure(ctx context.Context, rdb *redis.Client, o options) (outcome, error) {
	at := asynq.RedisClientOpt{Addr: o.redis, PoolSize: 4 * o.producers}
	client := asynq.NewClient(at)
	defer client.Close()
	q := newQueue(client, o)
	server := asynq.NewServer(at, asynq.Config{Concurrency: o.producers, LogLevel: asynq.FatalLevel})
	if err := server.Start(q); err != nil {
		return outcome{}, err
	}
	defer server.Shutdown()

	producing, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- q.produce(producing) }()
	time.Sleep(o.warming)
	q.measuring.Store(true)
	before, err := spend(ctx, rdb, q)
	if err != nil {
		return outcome{}, err
	}
	time.Sleep(o.seconds)
	after, err := spend(ctx, rdb, q)
	if err != nil {
		return outcome{}, err
	}
	q.measuring.Store(false)
	stop()
	if err := <-ended; err != nil {
		return outcome{}, err
	}
	q.drain()
	return q.sum(before, after), nil
}

func (q *queue) sum(before, after spent) outcome {
	n := float64(after.reported - before.reported)
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / n }
	q.mu.Lock()
	defer q.mu.Unlock()
	return outcome{
		Way: "asynq", Offered: q.offered.Load(), Reported: q.reported.Load(),
		Rate:    n / after.at.Sub(before.at).Seconds(),
		Process: each(after.process - before.process), Redis: each(after.redis - before.redis),
		P50: float64(q.taken.ValueAtQuantile(50)), P99: float64(q.taken.ValueAtQuantile(99)),
	}
}

// spent is the resources used up to a time.
type spent struct {
	at             time.Time
	reported       int64
	process, redis time.Duration // processor time
}

func spend(ctx context.Context, rdb *redis.Client, q *queue) (spent, error) {
	s := spent{at: time.Now(), reported: q.reported.Load()}
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return s, err
	}
	s.process = time.Duration(use.Utime.Nano() + use.Stime.Nano())
	info, err := rdb.Info(ctx, "cpu").Result()
	var user, system float64
	for line := range strings.Lines(info) {
		_, _ = fmt.Sscanf(line, "used_cpu_user:%f", &user)
		_, _ = fmt.Sscanf(line, "used_cpu_sys:%f", &system)
	}
	s.redis = time.Duration((user + system) * float64(time.Second))
	return s, err
}
