package bench_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"laststand/internal/ledger"
	"laststand/internal/taskqueue"
)

const (
	waits = 1000                  // measured tasks of the small topic
	every = 20 * time.Millisecond // interval of these tasks
)

// BenchmarkSmall measures the time from the call that enqueues a task to its handler. The
// tasks belong to one topic while another topic holds -many tasks.
func BenchmarkSmall(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchSmall(b, ledger.Config{Dir: b.TempDir()}) })
	b.Run("postgres", func(b *testing.B) { benchSmall(b, ledger.Config{URL: startPostgres(b).fresh(b)}) })
}

func benchSmall(b *testing.B, c ledger.Config) {
	const small = taskKind + "/small"
	n := openNode(b, c)
	defer n.Close()
	callsPerSecond(b, few, *many/taskqueue.MaxBatch, func(ctx context.Context) error {
		tasks := make([]taskqueue.NewTask, taskqueue.MaxBatch)
		for i := range tasks {
			tasks[i] = taskOf(taskKind+"/big", n.enqueued.Add(1))
		}
		_, err := n.Tasks.Enqueue(ctx, tasks)
		return err
	})
	w := topicWaits{since: map[string]time.Time{}}
	stop := n.start(b, func(_ context.Context, t taskqueue.Task) error {
		if t.Topic == small {
			w.end(t.Key)
		}
		return nil
	})
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range waits {
		<-tick.C
		task := taskOf(small, int64(i))
		w.begin(task.Key)
		if _, err := n.intake.Enqueue(b.Context(), task); err != nil {
			b.Fatal(err)
		}
	}
	for late := time.Now().Add(time.Minute); w.handledCount() < waits && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	lasted := n.completed.Load() < n.enqueued.Load()
	stop()
	if !lasted {
		b.Fatal("the large topic did not last: give -many more")
	}
	w.report(b)
}

// topicWaits records how long tasks waited.
type topicWaits struct {
	mu    sync.Mutex
	since map[string]time.Time
	taken []time.Duration
}

func (w *topicWaits) begin(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since[key] = time.Now()
}

func (w *topicWaits) end(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken = append(w.taken, time.Since(w.since[key]))
}

func (w *topicWaits) handledCount() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.taken)
}

func (w *topicWaits) report(b *testing.B) {
	b.Helper()
	if len(w.taken) < waits {
		b.Fatalf("%d tasks of the small topic reached their handler, want %d", len(w.taken), waits)
	}
	slices.Sort(w.taken)
	for name, share := range map[string]float64{"p50-ms": 0.5, "p99-ms": 0.99, "max-ms": 1} {
		at := min(len(w.taken)-1, int(share*float64(len(w.taken))))
		b.ReportMetric(float64(w.taken[at].Microseconds())/1000, name)
	}
	b.ReportMetric(0, "ns/op") // meaningless here: left out
}
