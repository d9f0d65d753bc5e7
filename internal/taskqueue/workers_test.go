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
)

// workersTest has running workers of the kind work and a maintainer, with one store.
type workersTest struct {
	*memoryQueue

	notifier *Notifier
	registry *prometheus.Registry
	end      context.CancelFunc
	ended    chan error
}

// startWorkers starts the workers and the maintainer. The test must call stop.
func startWorkers(t *testing.T, s *memoryQueue, service KindConfig) *workersTest {
	t.Helper()
	r := &workersTest{memoryQueue: s, notifier: &Notifier{}, registry: prometheus.NewRegistry(), ended: make(chan error, 2)}
	service.Kind, s.notifier = "work", r.notifier
	log := slog.New(slog.DiscardHandler)
	maintainer := NewMaintainer(MaintainerConfig{Store: s, Notifier: r.notifier, Logger: log, Registry: r.registry})
	workers := NewWorkers(Config{Store: s, Notifier: r.notifier, Kinds: []KindConfig{service}, Logger: log, Registry: r.registry})
	var ctx context.Context
	ctx, r.end = context.WithCancel(t.Context())
	go func() { r.ended <- maintainer.Run(ctx) }()
	go func() { r.ended <- workers.Run(ctx) }()
	return r
}

func (r *workersTest) stop(t *testing.T) {
	t.Helper()
	r.end()
	for range 2 {
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	}
}

// wantTasks checks the number of tasks in a state.
func (r *workersTest) wantTasks(t *testing.T, state State, n int64) {
	t.Helper()
	synctest.Wait()
	if result := r.count(state); result != n {
		t.Errorf("%d tasks are %s, want %d", result, state, n)
	}
}

// wantFailures checks the number of counted failures with a reason.
func (r *workersTest) wantFailures(t *testing.T, reason string, n float64) {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			for _, label := range m.Label {
				if strings.HasSuffix(f.GetName(), "failures_total") && label.GetValue() == reason && m.Counter.GetValue() != n {
					t.Errorf("%v failures by reason %s, want %v", m.Counter.GetValue(), reason, n)
				}
			}
		}
	}
}

func TestWorkersRunTasksConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, highest atomic.Int64
		r := startWorkers(t, newMemoryQueue(20), KindConfig{Concurrency: 5, Handle: func(context.Context, Task) error {
			highest.Store(max(highest.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Second)
			return nil
		}})
		time.Sleep(3500 * time.Millisecond)
		r.wantTasks(t, StateDone, 15)
		time.Sleep(time.Second)
		r.wantTasks(t, StateDone, 20)
		if highest.Load() != 5 {
			t.Errorf("%d tasks at the same time, want 5", highest.Load())
		}
		r.stop(t)
	})
}

// Failures are counted by reason: an error, a permanent error, a postponement or a panic.
func TestFailuresAreCountedByReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := map[string]error{
			"0": errors.New("why"), "1": Permanent(errors.New("never")), "2": Postpone(errors.New("busy"), time.Hour),
		}
		r := startWorkers(t, newMemoryQueue(4), KindConfig{Handle: func(_ context.Context, task Task) error {
			if task.Key == "3" {
				panic("oh")
			}
			return cause[task.Key]
		}, Backoff: Backoff{First: time.Second, Max: time.Second}})
		r.wantTasks(t, StateDead, 1)
		if at := r.tasks[2].DueAt; at != time.Now().Add(time.Hour).UnixMilli() {
			t.Errorf("the task that was postponed for an hour is due at %d", at)
		}
		time.Sleep(time.Minute)
		r.wantTasks(t, StateDead, 3)
		time.Sleep(3 * time.Hour)
		r.wantTasks(t, StateDead, 3)
		for reason, n := range map[string]float64{reasonError: 3, reasonPermanent: 1, reasonPanic: 3, reasonPostponed: 4} {
			r.wantFailures(t, reason, n)
		}
		r.stop(t)
	})
}

// The lease of a long attempt is renewed. If an operator discards the task, the attempt
// is cancelled.
func TestALongAttemptKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		notified := make(chan struct{})
		r := startWorkers(t, newMemoryQueue(1), KindConfig{Lease: time.Minute, Handle: func(ctx context.Context, _ Task) error {
			<-ctx.Done()
			close(notified)
			return ctx.Err()
		}})
		time.Sleep(time.Hour)
		r.wantTasks(t, StateClaimed, 1)
		r.mu.Lock()
		_ = r.tasks[0].Discard()
		r.mu.Unlock()
		select {
		case <-notified:
		case <-time.After(2 * time.Minute):
			t.Error("the attempt continues without its lease")
		}
		r.wantTasks(t, StateDiscarded, 1)
		r.wantFailures(t, reasonLost, 1)
		r.stop(t)
	})
}

// When workers stop, running attempts may continue for 10 s. Then they are cancelled, and their
// tasks return to the queue.
func TestWorkersReturnUnfinishedTasksAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startWorkers(t, newMemoryQueue(3), KindConfig{Concurrency: 2, Handle: func(ctx context.Context, task Task) error {
			if task.Key == "0" {
				time.Sleep(5 * time.Second)
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}})
		r.wantTasks(t, StateClaimed, 2)
		start := time.Now()
		r.stop(t)
		if elapsed := time.Since(start); elapsed != 10*time.Second {
			t.Errorf("the stop took %s, want 10 s", elapsed)
		}
		r.wantTasks(t, StateDone, 1)
		r.wantTasks(t, StateWaiting, 2)
		r.wantFailures(t, reasonReturned, 1)
	})
}

// Results of attempts that end while the store is unreachable are reported after the outage.
func TestResultsAreReportedAfterAnOutageOfTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemoryQueue(3)
		r := startWorkers(t, s, KindConfig{Concurrency: 2, Handle: func(context.Context, Task) error {
			s.setUnreachable(true)
			return nil
		}})
		r.wantTasks(t, StateClaimed, 2)
		time.Sleep(20 * time.Second)
		r.wantTasks(t, StateClaimed, 2)
		s.setUnreachable(false)
		time.Sleep(2 * time.Second)
		r.wantTasks(t, StateDone, 2)
		s.setUnreachable(false)
		time.Sleep(2 * time.Second)
		r.wantTasks(t, StateDone, 3)
		r.stop(t)
	})
}

// An empty queue causes only a few queries per minute. After a notification the workers
// claim immediately.
func TestAnIdleQueueCausesFewQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startWorkers(t, newMemoryQueue(0), KindConfig{Handle: func(context.Context, Task) error { return nil }})
		time.Sleep(time.Minute)
		r.takeCallCount()
		time.Sleep(time.Hour)
		if n := r.takeCallCount(); n < 60 || n > 60*14 {
			t.Errorf("%d queries in an idle hour", n)
		}
		r.mu.Lock()
		r.tasks = newMemoryQueue(1).tasks
		r.mu.Unlock()
		r.notifier.Notify("other/a")
		r.wantTasks(t, StateDone, 0)
		r.notifier.Notify("work/a")
		r.wantTasks(t, StateDone, 1)
		r.mu.Lock()
		r.tasks = newMemoryQueue(1).tasks
		r.mu.Unlock()
		time.Sleep(2 * time.Minute)
		r.wantTasks(t, StateDone, 1)
		r.stop(t)
	})
}

func TestBatcherGroupsTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemoryQueue(0)
		batcher := NewBatcher(s)
		s.releaseCommits = make(chan struct{}) // the first commit waits until the channel is closed
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
		close(s.releaseCommits)
		for range MaxBatch + 3 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if len(s.commitSizes) != 3 || s.commitSizes[0] != 1 || s.commitSizes[1]+s.commitSizes[2] != MaxBatch+2 {
			t.Errorf("commits of %v tasks", s.commitSizes)
		}
		if _, err := batcher.Enqueue(t.Context(), NewTask{Topic: "work/a"}); !errors.Is(err, ErrBadTask) {
			t.Error(err)
		}
		s.setUnreachable(true)
		if _, err := batcher.Enqueue(t.Context(), NewTask{Topic: "work/a", Key: "k", Payload: []byte("1")}); !errors.Is(err, errUnreachable) {
			t.Error(err)
		}
	})
}

// While the store hangs, a limited number of tasks waits, however many callers have given up.
func TestTheBatcherLimitsWaitingTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemoryQueue(0)
		batcher := NewBatcher(s)
		s.releaseCommits = make(chan struct{})
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
		close(s.releaseCommits)
		synctest.Wait()
		if total := sum(s.commitSizes); total > maxPendingTasks {
			t.Errorf("%d tasks in %d commits", total, len(s.commitSizes))
		}
		if _, err := batcher.Enqueue(t.Context(), NewTask{Topic: "work/a", Key: "k", Payload: []byte("1")}); err != nil {
			t.Errorf("after the store answers again: %v", err)
		}
	})
}

func sum(all []int) (total int) {
	for _, n := range all {
		total += n
	}
	return total
}
