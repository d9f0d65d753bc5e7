// Command peers measures River as a durable queue: one queue, a worker that does nothing,
// and the settings of River's own benchmark. It fills the given empty database and prints
// one line of JSON. It is a separate module so that Laststand does not depend on River.
//
//	go run . -database postgres://postgres@127.0.0.1/empty
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
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

const (
	batchCallers = 4   // callers with many tasks per call
	batchSize    = 100 // tasks per call
)

// queue is River on a database.
type queue struct {
	database                  string
	conns, bytes, topics      int
	producers, singles, batch int
	workers                   int
	isUnique                  bool

	pool     *pgxpool.Pool
	client   *river.Client[pgx.Tx]
	finished <-chan *river.Event
	enqueued atomic.Int64
}

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

func main() {
	var q queue
	flag.StringVar(&q.database, "database", "", "`URL` of an empty PostgreSQL database")
	flag.IntVar(&q.conns, "conns", 64, "connections to the database")
	flag.IntVar(&q.bytes, "bytes", 200, "size of a task")
	flag.IntVar(&q.topics, "topics", 1000, "topics that tasks name in turn")
	flag.IntVar(&q.producers, "producers", 64, "goroutines that enqueue one task per call")
	flag.IntVar(&q.singles, "singles", 20_000, "tasks that are enqueued one per call")
	flag.IntVar(&q.batch, "batched", 100_000, "tasks that are enqueued 100 per call, by 4 goroutines")
	flag.IntVar(&q.workers, "workers", 1000, "tasks that are worked at the same time")
	flag.BoolVar(&q.isUnique, "unique", false, "accept each key once")
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

// run enqueues all tasks, lets the workers complete them, and checks that all are completed.
func (q *queue) run(ctx context.Context) (r result, err error) {
	if err := q.open(ctx); err != nil {
		return r, err
	}
	defer q.pool.Close()
	before := cpuTime()
	if r.Single, err = callsPerSecond(ctx, q.producers, q.singles, func(ctx context.Context) error {
		next := q.nextTask()
		_, err := q.client.Insert(ctx, next.Args, next.InsertOpts)
		return err
	}); err != nil {
		return r, err
	}
	calls, err := callsPerSecond(ctx, batchCallers, q.batch/batchSize, func(ctx context.Context) error {
		tasks := make([]river.InsertManyParams, batchSize)
		for i := range tasks {
			tasks[i] = q.nextTask()
		}
		_, err := q.client.InsertMany(ctx, tasks)
		return err
	})
	if err != nil {
		return r, err
	}
	took, err := q.workAll(ctx)
	if err != nil {
		return r, err
	}
	count := q.enqueued.Load()
	r.Batch, r.Work, r.Process = batchSize*calls, float64(count)/took.Seconds(), float64((cpuTime()-before).Microseconds())/float64(count)
	var completed int64
	err = q.pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state = 'completed'").Scan(&completed)
	if err == nil && completed != count {
		err = fmt.Errorf("%d tasks were enqueued, %d are completed", count, completed)
	}
	return r, err
}

// open creates River's tables and its client.
func (q *queue) open(ctx context.Context) error {
	config, err := pgxpool.ParseConfig(q.database)
	if err != nil {
		return err
	}
	config.MaxConns = int32(q.conns) //nolint:gosec // a few
	if q.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	driver := riverpgxv5.New(q.pool)
	tables, err := rivermigrate.New(driver, nil)
	if err != nil {
		return err
	}
	if _, err := tables.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, worker{})
	q.client, err = river.NewClient(driver, &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond, // as in River's own benchmark
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: q.workers}},
		Workers: workers,
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	q.finished, _ = q.client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: q.singles + q.batch, // River would drop what does not fit
		Kinds:    []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled},
	})
	return nil
}

func (q *queue) nextTask() river.InsertManyParams {
	i := q.enqueued.Add(1)
	next := river.InsertManyParams{Args: task{
		Topic: fmt.Sprintf("bench/%07d", i%int64(q.topics)), Key: fmt.Sprintf("key-%09d", i), Payload: strings.Repeat("x", q.bytes-2),
	}}
	if q.isUnique {
		next.InsertOpts = &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
	}
	return next
}

// callsPerSecond makes calls by several goroutines, and returns their rate.
func callsPerSecond(ctx context.Context, callers, calls int, call func(context.Context) error) (rate float64, err error) {
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(callers)
	for range calls {
		group.Go(func() error { return call(ctx) })
	}
	err = group.Wait()
	return float64(calls) / time.Since(start).Seconds(), err
}

// workAll waits until River has completed all tasks, and returns how long that took.
func (q *queue) workAll(ctx context.Context) (time.Duration, error) {
	start, tooLong := time.Now(), time.After(20*time.Minute)
	if err := q.client.Start(ctx); err != nil {
		return 0, err
	}
	for range q.enqueued.Load() {
		select {
		case e := <-q.finished:
			if e.Kind != river.EventKindJobCompleted {
				return 0, fmt.Errorf("a task ended as %s", e.Kind)
			}
		case <-tooLong:
			return 0, errors.New("not all tasks were completed within 20 minutes")
		}
	}
	took := time.Since(start)
	return took, q.client.Stop(ctx)
}

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // it never fails for the process itself
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
