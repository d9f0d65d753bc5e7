package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// task contains the column values and the payload of our tasks.
type task struct {
	Topic   string `json:"topic"`
	Key     string `json:"key" river:"unique"`
	Payload string `json:"payload"`
}

func (task) Kind() string { return "bench" }

type worker struct{ river.WorkerDefaults[task] }

func (worker) Work(context.Context, *river.Job[task]) error { return nil }

// queue is River on a database.
type queue struct {
	options
	pool    *pgxpool.Pool
	client  *river.Client[pgx.Tx]
	ended   <-chan *river.Event
	payload string
	made    atomic.Int64
}

func open(ctx context.Context, o options) (*queue, error) {
	config, err := pgxpool.ParseConfig(o.database)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(o.conns) //nolint:gosec // a few
	q := &queue{options: o, payload: strings.Repeat("x", o.bytes-2)}
	if q.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(q.pool)
	tables, err := rivermigrate.New(driver, nil)
	if err != nil {
		return nil, err
	}
	if _, err := tables.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, worker{})
	q.client, err = river.NewClient(driver, &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond, // as in River's own benchmark
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: o.workers}},
		Workers: workers,
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return nil, err
	}
	q.ended, _ = q.client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: o.singles + o.batch, // River would drop what does not fit
		Kinds:    []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled},
	})
	return q, nil
}

func (q *queue) next() river.InsertManyParams {
	i := q.made.Add(1)
	next := river.InsertManyParams{Args: task{
		Topic: fmt.Sprintf("bench/%07d", i%int64(q.topics)), Key: fmt.Sprintf("key-%09d", i), Payload: q.payload,
	}}
	if q.unique {
		next.InsertOpts = &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
	}
	return next
}

func (q *queue) insertOne(ctx context.Context) error {
	next := q.next()
	_, err := q.client.Insert(ctx, next.Args, next.InsertOpts)
	return err
}

func (q *queue) insertMany(ctx context.Context) error {
	tasks := make([]river.InsertManyParams, size)
	for i := range tasks {
		tasks[i] = q.next()
	}
	_, err := q.client.InsertMany(ctx, tasks)
	return err
}

// workOff waits until the database has all tasks as done, and returns how long that took.
func (q *queue) workOff(ctx context.Context) (time.Duration, error) {
	began, tooLong := time.Now(), time.After(20*time.Minute)
	if err := q.client.Start(ctx); err != nil {
		return 0, err
	}
	for range q.made.Load() {
		select {
		case e := <-q.ended:
			if e.Kind != river.EventKindJobCompleted {
				return 0, fmt.Errorf("a task ended as %s", e.Kind)
			}
		case <-tooLong:
			return 0, fmt.Errorf("not all %d tasks were done in time", q.made.Load())
		}
	}
	took := time.Since(began)
	return took, q.client.Stop(ctx)
}

// whole checks that all tasks are done.
func (q *queue) whole(ctx context.Context) error {
	var done int64
	err := q.pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state = 'completed'").Scan(&done)
	if err == nil && done != q.made.Load() {
		err = fmt.Errorf("%d tasks were enqueued, %d are done", q.made.Load(), done)
	}
	return err
}
