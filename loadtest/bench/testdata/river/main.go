// Command peers measures River as a durable queue: one queue, a worker that does nothing,
// and the settings of River's own benchmark. It fills the given empty database and prints
// one line of JSON. It is a separate module so that Laststand does not depend on River.
//
//	go run . -database postgres://postgres@127.0.0.1/empty
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"golang.org/x/sync/errgroup"
)

var (
	database  = flag.String("database", "", "`URL` of an empty PostgreSQL database")
	conns     = flag.Int("conns", 64, "connections to the database")
	bytes     = flag.Int("bytes", 200, "size of a task")
	topics    = flag.Int("topics", 1000, "topics that tasks name in turn")
	producers = flag.Int("producers", 64, "goroutines that enqueue one task per call")
	singles   = flag.Int("singles", 20_000, "tasks that are enqueued one per call")
	batched   = flag.Int("batched", 100_000, "tasks that are enqueued 100 per call, by 4 goroutines")
	workers   = flag.Int("workers", 1000, "tasks that are worked at the same time")
	isUnique  = flag.Bool("unique", false, "accept each key once")
)

const (
	batchCallers = 4   // callers with many tasks per call
	batchSize    = 100 // tasks per call
)

// result is the output: tasks/s, and µs of processor time per task.
type result struct {
	Single  float64 `json:"single_per_second"`
	Batch   float64 `json:"batch_per_second"`
	Work    float64 `json:"work_per_second"`
	Process float64 `json:"process_us"`
}

// task contains the column values and the payload of our tasks.
type task struct {
	Topic   string `json:"topic"`
	Key     string `json:"key" river:"unique"`
	Payload string `json:"payload"`
}

// Kind names the type of tasks.
func (task) Kind() string { return "bench" }

// worker does nothing.
type worker struct{ river.WorkerDefaults[task] }

// Work completes a task.
func (worker) Work(context.Context, *river.Job[task]) error { return nil }

// check ends the program if there is an error.
func check(err error) {
	if err != nil {
		log.Fatalln(err)
	}
}

// must returns a value, or ends the program if there is an error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// main enqueues all tasks, lets the workers complete them, and checks that all are completed.
func main() {
	log.SetPrefix("peers: ")
	flag.Parse()
	ctx := context.Background()
	config := must(pgxpool.ParseConfig(*database))
	config.MaxConns = int32(*conns) //nolint:gosec // a few
	pool := must(pgxpool.NewWithConfig(ctx, config))
	defer pool.Close()
	client := newClient(ctx, pool)
	before := cpuTime()
	var r result
	r.Single = callsPerSecond(*producers, *singles, func() error {
		next := nextTask()
		_, err := client.Insert(ctx, next.Args, next.InsertOpts)
		return err
	})
	r.Batch = batchSize * callsPerSecond(batchCallers, *batched/batchSize, func() error {
		tasks := make([]river.InsertManyParams, batchSize)
		for i := range tasks {
			tasks[i] = nextTask()
		}
		_, err := client.InsertMany(ctx, tasks)
		return err
	})
	count := enqueued.Load()
	r.Work = float64(count) / workAll(ctx, client, count).Seconds()
	r.Process = float64((cpuTime() - before).Microseconds()) / float64(count)
	var completed int64
	check(pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state = 'completed'").Scan(&completed))
	if completed != count {
		log.Fatalf("%d tasks were enqueued, %d are completed", count, completed)
	}
	check(json.NewEncoder(os.Stdout).Encode(r))
}

// newClient creates River's tables and its client.
func newClient(ctx context.Context, pool *pgxpool.Pool) *river.Client[pgx.Tx] {
	driver := riverpgxv5.New(pool)
	must(must(rivermigrate.New(driver, nil)).Migrate(ctx, rivermigrate.DirectionUp, nil))
	all := river.NewWorkers()
	river.AddWorker(all, worker{})
	return must(river.NewClient(driver, &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond, // as in River's own benchmark
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: *workers}},
		Workers: all,
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	}))
}

var enqueued atomic.Int64

func nextTask() river.InsertManyParams {
	i := enqueued.Add(1)
	next := river.InsertManyParams{Args: task{
		Topic: fmt.Sprintf("bench/%07d", i%int64(*topics)), Key: fmt.Sprintf("key-%09d", i), Payload: strings.Repeat("x", *bytes-2),
	}}
	if *isUnique {
		next.InsertOpts = &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
	}
	return next
}

// callsPerSecond makes calls by several goroutines, and returns their rate.
func callsPerSecond(callers, calls int, call func() error) float64 {
	start := time.Now()
	var group errgroup.Group
	group.SetLimit(callers)
	for range calls {
		group.Go(call)
	}
	check(group.Wait())
	return float64(calls) / time.Since(start).Seconds()
}

// workAll waits until River has completed all tasks, and returns how long that took.
func workAll(ctx context.Context, client *river.Client[pgx.Tx], count int64) time.Duration {
	finished, _ := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: int(count), // River would drop what does not fit
		Kinds:    []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled},
	})
	start, tooLong := time.Now(), time.After(20*time.Minute)
	check(client.Start(ctx))
	for range count {
		select {
		case e := <-finished:
			if e.Kind != river.EventKindJobCompleted {
				log.Fatalln("a task ended as", e.Kind)
			}
		case <-tooLong:
			log.Fatalln("not all tasks were completed within 20 minutes")
		}
	}
	took := time.Since(start)
	check(client.Stop(ctx))
	return took
}

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // it never fails for the process itself
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
