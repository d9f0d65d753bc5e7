package bench_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"laststand/internal/ledger"
	"laststand/internal/taskqueue"
)

const taskKind = "bench"

var payload = []byte(`"` + strings.Repeat("x", taskBytes-2) + `"`)

// node is the queue of one node on a database.
type node struct {
	*ledger.Ledger

	notifier  *taskqueue.Notifier
	intake    *taskqueue.Batcher
	enqueued  atomic.Int64 // also used to make keys
	completed atomic.Int64 // on disk
}

func openNode(b *testing.B, c ledger.Config) *node {
	b.Helper()
	n := &node{notifier: taskqueue.NewNotifier(nil)}
	c.NotifyTopic, c.Logger = n.notifier.Notify, slog.New(slog.DiscardHandler)
	l, err := ledger.Open(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	n.Ledger, n.intake = l, taskqueue.NewBatcher(l.Tasks)
	return n
}

// task makes the next task, in one of -topics.
func (n *node) task() taskqueue.NewTask {
	i := n.enqueued.Add(1)
	topic := fmt.Sprintf("%s/%07d", taskKind, i%int64(*topics))
	return taskqueue.NewTask{Game: "bench", Topic: topic, Key: fmt.Sprintf("key-%09d", i), Payload: payload}
}

// call enqueues tasks in one call.
func (n *node) call(ctx context.Context, size int) error {
	tasks := make([]taskqueue.NewTask, size)
	for i := range tasks {
		tasks[i] = n.task()
	}
	_, err := n.Tasks.Enqueue(ctx, tasks)
	return err
}

// Complete counts the completed tasks.
func (n *node) Complete(ctx context.Context, leases []taskqueue.Lease) ([]taskqueue.Lease, error) {
	lost, err := n.Claims.Complete(ctx, leases)
	if err == nil {
		n.completed.Add(int64(len(leases) - len(lost)))
	}
	return lost, err
}

// start runs workers and a maintainer until the caller calls stop.
func (n *node) start(b *testing.B) (stop func()) {
	logger := slog.New(slog.DiscardHandler)
	w := taskqueue.NewWorkers(taskqueue.Config{
		Store: n.Claims, Notifier: n.notifier, Logger: logger, Registry: prometheus.NewRegistry(),
		Kinds: []taskqueue.KindConfig{{Kind: taskKind, Handle: doNothing, Concurrency: *workers}},
	})
	k := taskqueue.NewMaintainer(taskqueue.MaintainerConfig{Store: n.Maintenance, Logger: logger, Registry: prometheus.NewRegistry()})
	ctx, cancel := context.WithCancel(b.Context())
	var running errgroup.Group
	running.Go(func() error { return w.Run(ctx) })
	running.Go(func() error { return k.Run(ctx) })
	return func() {
		cancel()
		if err := running.Wait(); err != nil {
			b.Error(err)
		}
	}
}

func doNothing(context.Context, taskqueue.Task) error { return nil }

// workOff waits until all tasks are done and returns how long that took.
func (n *node) workOff(b *testing.B) time.Duration {
	b.Helper()
	began, late := time.Now(), time.Now().Add(20*time.Minute)
	stop := n.start(b)
	for n.completed.Load() < n.enqueued.Load() && time.Now().Before(late) {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(began)
	stop()
	n.checkAllDone(b)
	return took
}

// checkAllDone fails the benchmark if a task is not done.
func (n *node) checkAllDone(b *testing.B) {
	b.Helper()
	for _, state := range []taskqueue.State{taskqueue.StateWaiting, taskqueue.StateClaimed, taskqueue.StateLater, taskqueue.StateDead} {
		many, _, err := n.Maintenance.Depth(b.Context(), state, 10)
		if err != nil || many > 0 {
			b.Fatalf("at least %d tasks are still %s (error: %v)", many, state, err)
		}
	}
	if enqueued, completed := n.enqueued.Load(), n.completed.Load(); enqueued != completed {
		b.Fatalf("%d tasks were enqueued, %d completed", enqueued, completed)
	}
}

// callsPerSecond calls do n times in all, atOnce calls at a time, and returns the calls per second.
func callsPerSecond(b *testing.B, concurrency, n int, do func(ctx context.Context) error) (rate float64) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	began := time.Now()
	all, ctx := errgroup.WithContext(b.Context())
	for range concurrency {
		all.Go(func() error {
			for left.Add(-1) >= 0 {
				if err := do(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
	return float64(n) / time.Since(began).Seconds()
}
