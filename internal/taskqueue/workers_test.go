package taskqueue

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
)

// workersTest has running workers of the kind work and a maintainer, with one store.
type workersTest struct {
	*memoryQueue

	notifier *Notifier
	registry *prometheus.Registry
	stop     func() // ends the workers and the maintainer, and waits for them
}

// startWorkers starts the workers and the maintainer.
func startWorkers(t *testing.T, store *memoryQueue, kind KindConfig) *workersTest {
	t.Helper()
	test := &workersTest{memoryQueue: store, registry: prometheus.NewRegistry()}
	test.notifier = NewNotifier(test.registry)
	kind.Kind, store.notifier = "work", test.notifier
	log := slog.New(slog.DiscardHandler)
	maintainer := NewMaintainer(MaintainerConfig{Store: store, Logger: log, Registry: test.registry})
	workers := NewWorkers(Config{Store: store, Notifier: test.notifier, Kinds: []KindConfig{kind}, Logger: log, Registry: test.registry})
	test.stop = testenv.Run(t, func(ctx context.Context) error {
		both, ctx := errgroup.WithContext(ctx)
		both.Go(func() error { return maintainer.Run(ctx) })
		both.Go(func() error { return workers.Run(ctx) })
		return both.Wait()
	})
	return test
}

// wantTasks checks the number of tasks in a state.
func (w *workersTest) wantTasks(t *testing.T, state State, want int64) {
	t.Helper()
	synctest.Wait()
	if result := w.count(state); result != want {
		t.Errorf("%d tasks are %s, want %d", result, state, want)
	}
}

// wantFailures checks the number of counted failures with a reason.
func (w *workersTest) wantFailures(t *testing.T, reason string, want float64) {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, sample := range family.Metric {
			for _, label := range sample.Label {
				if strings.HasSuffix(family.GetName(), "failures_total") && label.GetValue() == reason && sample.Counter.GetValue() != want {
					t.Errorf("%v failures by reason %s, want %v", sample.Counter.GetValue(), reason, want)
				}
			}
		}
	}
}

func TestWorkersRunTasksConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, maxRunning atomic.Int64
		workers := startWorkers(t, newMemoryQueue(20), KindConfig{Concurrency: 5, Handle: func(context.Context, Task) error {
			maxRunning.Store(max(maxRunning.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Second)
			return nil
		}})
		time.Sleep(3500 * time.Millisecond)
		workers.wantTasks(t, StateDone, 15)
		time.Sleep(time.Second)
		workers.wantTasks(t, StateDone, 20)
		if maxRunning.Load() != 5 {
			t.Errorf("%d tasks at the same time, want 5", maxRunning.Load())
		}
	})
}

// Failures are counted by reason: an error, a permanent error, a postponement or a panic.
func TestFailuresAreCountedByReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errByKey := map[string]error{
			"0": errors.New("why"), "1": Permanent(errors.New("never")), "2": Postpone(errors.New("busy"), time.Hour),
		}
		workers := startWorkers(t, newMemoryQueue(4), KindConfig{Handle: func(_ context.Context, task Task) error {
			if task.Key == "3" {
				panic("oh")
			}
			return errByKey[task.Key]
		}, Backoff: Backoff{First: time.Second, Max: time.Second}})
		workers.wantTasks(t, StateDead, 1)
		if dueAt := workers.tasks[2].DueAt; dueAt != time.Now().Add(time.Hour).UnixMilli() {
			t.Errorf("the task that was postponed for an hour is due at %d", dueAt)
		}
		time.Sleep(time.Minute)
		workers.wantTasks(t, StateDead, 3)
		time.Sleep(3 * time.Hour)
		workers.wantTasks(t, StateDead, 3)
		for reason, n := range map[string]float64{reasonError: 3, reasonPermanent: 1, reasonPanic: 3, reasonPostponed: 4} {
			workers.wantFailures(t, reason, n)
		}
	})
}

// The lease of a long attempt is renewed. If an operator discards the task, the attempt
// is cancelled.
func TestALongAttemptKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan struct{})
		workers := startWorkers(t, newMemoryQueue(1), KindConfig{Lease: time.Minute, Handle: func(ctx context.Context, _ Task) error {
			<-ctx.Done()
			close(cancelled)
			return ctx.Err()
		}})
		time.Sleep(time.Hour)
		workers.wantTasks(t, StateClaimed, 1)
		workers.mu.Lock()
		_ = workers.tasks[0].Discard()
		workers.mu.Unlock()
		select {
		case <-cancelled:
		case <-time.After(2 * time.Minute):
			t.Error("the attempt continues without its lease")
		}
		workers.wantTasks(t, StateDiscarded, 1)
		workers.wantFailures(t, reasonLost, 1)
	})
}

// When workers stop, running attempts may continue for 10 s. Then they are cancelled, and their
// tasks return to the queue.
func TestWorkersReturnUnfinishedTasksAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		workers := startWorkers(t, newMemoryQueue(3), KindConfig{Concurrency: 2, Handle: func(ctx context.Context, task Task) error {
			if task.Key == "0" {
				time.Sleep(5 * time.Second)
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}})
		workers.wantTasks(t, StateClaimed, 2)
		start := time.Now()
		workers.stop()
		if elapsed := time.Since(start); elapsed != 10*time.Second {
			t.Errorf("the stop took %s, want 10 s", elapsed)
		}
		workers.wantTasks(t, StateDone, 1)
		workers.wantTasks(t, StateWaiting, 2)
		workers.wantFailures(t, reasonReturned, 1)
	})
}

// Results of attempts that end while the store is unreachable are reported after the outage.
func TestResultsAreReportedAfterAnOutageOfTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryQueue(3)
		workers := startWorkers(t, store, KindConfig{Concurrency: 2, Handle: func(_ context.Context, task Task) error {
			if task.Key != "2" {
				store.setUnreachable(true)
			}
			return nil
		}})
		workers.wantTasks(t, StateClaimed, 2)
		time.Sleep(20 * time.Second)
		workers.wantTasks(t, StateClaimed, 2)
		store.setUnreachable(false)
		time.Sleep(2 * time.Second)
		workers.wantTasks(t, StateDone, 3)
	})
}

// An empty queue causes less than two queries per second. After a notification the workers
// claim immediately.
func TestAnIdleQueueCausesFewQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		workers := startWorkers(t, newMemoryQueue(0), KindConfig{Handle: func(context.Context, Task) error { return nil }})
		time.Sleep(time.Minute)
		workers.takeCallCount()
		time.Sleep(time.Hour)
		if n := workers.takeCallCount(); n < 60*60 || n > 2*60*60 {
			t.Errorf("%d queries in an idle hour", n)
		}
		workers.mu.Lock()
		workers.tasks = newMemoryQueue(1).tasks
		workers.mu.Unlock()
		workers.notifier.Notify("other/a")
		workers.wantTasks(t, StateDone, 0)
		workers.notifier.Notify("work/a")
		workers.wantTasks(t, StateDone, 1)
		workers.mu.Lock()
		workers.tasks = newMemoryQueue(1).tasks
		workers.mu.Unlock()
		time.Sleep(2 * time.Minute)
		workers.wantTasks(t, StateDone, 1)
	})
}

func TestBatcherGroupsTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryQueue(0)
		batcher := NewBatcher(store)
		store.releaseCommits = make(chan struct{}) // the first commit waits until the channel is closed
		results := make(chan error)
		enqueue := func(key string) {
			accepted, err := batcher.Enqueue(t.Context(), NewTask{Topic: "work/a", Key: key, Payload: []byte("1")})
			if err == nil && accepted.ID != key {
				err = io.ErrUnexpectedEOF
			}
			results <- err
		}
		go enqueue("first")
		synctest.Wait()
		for i := range MaxBatch + 2 {
			go enqueue("k" + strings.Repeat("x", i%100))
		}
		synctest.Wait()
		close(store.releaseCommits)
		for range MaxBatch + 3 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if len(store.commitSizes) != 3 || store.commitSizes[0] != 1 || store.commitSizes[1]+store.commitSizes[2] != MaxBatch+2 {
			t.Errorf("commits of %v tasks", store.commitSizes)
		}
		if _, err := batcher.Enqueue(t.Context(), NewTask{Topic: "work/a"}); !errors.Is(err, ErrBadTask) {
			t.Error(err)
		}
		store.setUnreachable(true)
		if _, err := batcher.Enqueue(t.Context(), NewTask{Topic: "work/a", Key: "k", Payload: []byte("1")}); !errors.Is(err, errUnreachable) {
			t.Error(err)
		}
	})
}

// While the store hangs, a limited number of tasks waits, however many callers have given up.
func TestTheBatcherLimitsWaitingTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryQueue(0)
		batcher := NewBatcher(store)
		store.releaseCommits = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var callers sync.WaitGroup
		for range 5 * MaxBatch {
			callers.Go(func() {
				if _, err := batcher.Enqueue(ctx, NewTask{Topic: "work/a", Key: "k", Payload: []byte("1")}); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		close(store.releaseCommits)
		synctest.Wait()
		if total := sum(store.commitSizes); total > MaxBatch {
			t.Errorf("%d tasks in %d commits", total, len(store.commitSizes))
		}
		if _, err := batcher.Enqueue(t.Context(), NewTask{Topic: "work/a", Key: "k", Payload: []byte("1")}); err != nil {
			t.Errorf("after the store answers again: %v", err)
		}
	})
}

func sum(sizes []int) (total int) {
	for _, n := range sizes {
		total += n
	}
	return total
}
