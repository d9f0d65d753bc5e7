package bench_test

import (
	"context"
	"fmt"
	"testing"
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

// drive enqueues all tasks and then lets the workers complete them.
func (n *node) drive(b *testing.B, p *postgres) (f figures) {
	b.Helper()
	here, database := cpu(b), p.cpu(b)
	f.Single = callsPerSecond(b, *producers, *singles, func(ctx context.Context) error {
		_, err := n.intake.Enqueue(ctx, n.task())
		return err
	})
	f.Batch = batch * callsPerSecond(b, few, *batched/batch, func(ctx context.Context) error { return n.call(ctx, batch) })
	all := float64(n.enqueued.Load())
	f.Work = all / n.workOff(b).Seconds()
	f.Process = float64((cpu(b) - here).Microseconds()) / all
	f.Database = float64((p.cpu(b) - database).Microseconds()) / all
	return f
}
