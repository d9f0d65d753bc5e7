package bench_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"laststand/internal/ledger"
	"laststand/internal/taskqueue"
)

// figures are the figures of one run: tasks/s, and µs of processor time per task.
type figures struct {
	Single   float64 `json:"single_per_second"`
	Batch    float64 `json:"batch_per_second"`
	Work     float64 `json:"work_per_second"`
	Process  float64 `json:"process_us"`
	Database float64 `json:"-"` // only for PostgreSQL
}

func (f figures) String() string {
	return fmt.Sprintf("%7.0f enqueued/s one a call, %7.0f by %d, %7.0f worked/s, %4.0f us/task here, %4.0f in the database",
		f.Single, f.Batch, batch, f.Work, f.Process, f.Database)
}

// BenchmarkRates measures ours alone.
func BenchmarkRates(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchRates(b, ledger.Config{Dir: b.TempDir()}, nil)
	})
	b.Run("postgres", func(b *testing.B) {
		p := startPostgres(b)
		benchRates(b, ledger.Config{URL: p.fresh(b)}, p)
	})
}

func benchRates(b *testing.B, c ledger.Config, p *postgres) {
	n := openNode(b, c)
	defer n.Close()
	f := n.drive(b, p)
	b.ReportMetric(f.Single, "single-enqueued/s")
	b.ReportMetric(f.Batch, "batch-enqueued/s")
	b.ReportMetric(f.Work, "worked/s")
	b.ReportMetric(f.Process, "here-us/task")
	b.ReportMetric(f.Database, "database-us/task")
	b.ReportMetric(n.byHand(b, *producers, 1), "single-by-hand/s")
	b.ReportMetric(n.byHand(b, few, batch), "batch-by-hand/s")
	b.ReportMetric(0, "ns/op") // meaningless here: left out
	n.checkAllDone(b)
}

// drive enqueues all tasks and then lets the workers complete them.
func (n *node) drive(b *testing.B, p *postgres) (f figures) {
	b.Helper()
	here, database := cpu(b), p.cpu(b)
	f.Single = callsPerSecond(b, *producers, *singles, func(ctx context.Context) error {
		_, err := n.intake.Enqueue(ctx, n.task(false))
		return err
	})
	f.Batch = batch * callsPerSecond(b, few, *batched/batch, func(ctx context.Context) error { return n.call(ctx, batch, false) })
	all := float64(n.enqueued.Load())
	f.Work = all / n.workOff(b).Seconds()
	f.Process = float64((cpu(b) - here).Microseconds()) / all
	f.Database = float64((p.cpu(b) - database).Microseconds()) / all
	return f
}

// byHand claims and completes tasks with explicit calls, as producers and workers outside
// the node do. It returns the completed tasks per second.
func (n *node) byHand(b *testing.B, atOnce, size int) float64 {
	b.Helper()
	calls := *singles
	if size > 1 {
		calls = *batched / size
	}
	for range (calls*size + taskqueue.MaxBatch - 1) / taskqueue.MaxBatch {
		if err := n.call(b.Context(), taskqueue.MaxBatch, false); err != nil {
			b.Fatal(err)
		}
	}
	began, before := time.Now(), n.completed.Load()
	callsPerSecond(b, atOnce, atOnce, func(ctx context.Context) error {
		for {
			tasks, err := n.Claims.Claim(ctx, taskKind, size, time.Minute)
			if err != nil || len(tasks) == 0 {
				return err
			}
			var leases []taskqueue.Lease
			for i := range tasks {
				leases = append(leases, tasks[i].Lease())
			}
			if _, err := n.Complete(ctx, leases); err != nil {
				return err
			}
		}
	})
	return float64(n.completed.Load()-before) / time.Since(began).Seconds()
}
