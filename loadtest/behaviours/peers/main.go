// Command peers measures asynq as a queue of behaviours. Each event is a task with the type
// of its game, in one queue, and the handler only counts. The command empties the given
// Redis and prints one line of JSON. It is a separate module so that Laststand does not
// depend on asynq.
//
//	go run . -redis 127.0.0.1:6379
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// queue sends events through asynq.
type queue struct {
	redis            string
	games, bytes     int
	producers        int
	window           int64 // events that are offered and not yet reported, at most
	warmUp, duration time.Duration

	client            *asynq.Client
	room              *semaphore.Weighted // what is left of the window
	offered, reported atomic.Int64
	isMeasuring       atomic.Bool

	mu        sync.Mutex
	latencies *hdrhistogram.Histogram // ms from offered to reported, during the measurement
}

// result is the output. Processor times are in µs per event.
type result struct {
	Offered  int64   `json:"offered"`
	Reported int64   `json:"reported"`
	Rate     float64 `json:"events_per_second"`
	Process  float64 `json:"process_us"`
	Redis    float64 `json:"redis_us"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
}

func main() {
	var q queue
	flag.StringVar(&q.redis, "redis", "127.0.0.1:6379", "`address` of a Redis, which is emptied")
	flag.IntVar(&q.games, "games", 1000, "games of the events, by Zipf's law")
	flag.IntVar(&q.bytes, "bytes", 200, "size of an event, at least 13")
	flag.IntVar(&q.producers, "producers", 64, "goroutines that offer events, and tasks that are handled at the same time")
	flag.Int64Var(&q.window, "window", 30_000, "events that are offered and not yet reported, at most")
	flag.DurationVar(&q.warmUp, "warming", 2*time.Second, "time before the measurement")
	flag.DurationVar(&q.duration, "seconds", 5*time.Second, "time of the measurement")
	flag.Parse()
	r, err := q.run(context.Background())
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run runs a server and producers in this process, and measures them.
func (q *queue) run(ctx context.Context) (r result, err error) {
	rdb := redis.NewClient(&redis.Options{Addr: q.redis})
	defer rdb.Close()
	if err := rdb.FlushAll(ctx).Err(); err != nil {
		return r, err
	}
	options := asynq.RedisClientOpt{Addr: q.redis, PoolSize: 4 * q.producers}
	q.client, q.room, q.latencies = asynq.NewClient(options), semaphore.NewWeighted(q.window), hdrhistogram.New(1, 300_000, 3)
	defer q.client.Close()
	server := asynq.NewServer(options, asynq.Config{Concurrency: q.producers, LogLevel: asynq.FatalLevel})
	if err := server.Start(q); err != nil {
		return r, err
	}
	defer server.Shutdown()
	producing, stop := context.WithCancel(ctx)
	defer stop()
	produced := make(chan error, 1)
	go func() { produced <- q.produce(producing) }()
	time.Sleep(q.warmUp)
	q.isMeasuring.Store(true)
	start, before := time.Now(), q.reported.Load()
	process, redisTime, err := cpuTimes(ctx, rdb)
	time.Sleep(q.duration)
	reported, seconds := float64(q.reported.Load()-before), time.Since(start).Seconds()
	processAfter, redisAfter, errAfter := cpuTimes(ctx, rdb)
	q.isMeasuring.Store(false)
	stop()
	if err := errors.Join(err, errAfter, <-produced); err != nil {
		return r, err
	}
	q.awaitReports()
	q.mu.Lock()
	defer q.mu.Unlock()
	return result{
		Offered: q.offered.Load(), Reported: q.reported.Load(), Rate: reported / seconds,
		Process: float64((processAfter - process).Microseconds()) / reported, Redis: float64((redisAfter - redisTime).Microseconds()) / reported,
		P50: float64(q.latencies.ValueAtQuantile(50)), P99: float64(q.latencies.ValueAtQuantile(99)),
	}, nil
}

// timestampBytes is the number of digits of epoch ms at the start of an event.
const timestampBytes = 13

// produce offers events until ctx ends.
func (q *queue) produce(ctx context.Context) error {
	padding := strings.Repeat("x", max(0, q.bytes-timestampBytes))
	var group errgroup.Group
	for p := range q.producers {
		group.Go(func() error {
			zipf := rand.NewZipf(rand.New(rand.NewPCG(1, uint64(p))), 1.1, 1, uint64(q.games-1)) //nolint:gosec // the choice of games is no secret
			for q.room.Acquire(ctx, 1) == nil {
				q.offered.Add(1)
				game := fmt.Sprintf("com.example.game%06d", zipf.Uint64())
				event := strconv.FormatInt(time.Now().UnixMilli(), 10) + padding
				if _, err := q.client.EnqueueContext(context.WithoutCancel(ctx), asynq.NewTask(game, []byte(event))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// ProcessTask reports an event.
func (q *queue) ProcessTask(_ context.Context, task *asynq.Task) error {
	offeredAt, err := strconv.ParseInt(string(task.Payload()[:timestampBytes]), 10, 64)
	if err != nil {
		return err
	}
	q.reported.Add(1)
	q.room.Release(1)
	if !q.isMeasuring.Load() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.latencies.RecordValue(time.Now().UnixMilli() - offeredAt)
}

// awaitReports waits until all offered events are reported, for at most a minute.
func (q *queue) awaitReports() {
	for until := time.Now().Add(time.Minute); q.reported.Load() < q.offered.Load() && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
}

// cpuTimes returns the processor time of this process and of Redis so far.
func cpuTimes(ctx context.Context, rdb *redis.Client) (process, redisTime time.Duration, err error) {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0, 0, err
	}
	info, err := rdb.Info(ctx, "cpu").Result()
	var user, system float64
	for line := range strings.Lines(info) {
		_, _ = fmt.Sscanf(line, "used_cpu_user:%f", &user)
		_, _ = fmt.Sscanf(line, "used_cpu_sys:%f", &system)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), time.Duration((user + system) * float64(time.Second)), err
}
