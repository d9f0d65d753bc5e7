package taskqueue

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/timer"
)

// MaintenanceStore has the maintenance steps of a store. Each call of a step
// changes at most n rows.
type MaintenanceStore interface {
	// ReturnDue calls HandleDue for tasks whose DueAt has passed. If there are none, it
	// only reads.
	ReturnDue(ctx context.Context, n int) (DueCounts, error)
	// ForgetTasks deletes tasks that ended more than 7 days ago.
	ForgetTasks(ctx context.Context, n int) (count int, err error)
	// Depth counts the tasks of a state, up to a limit, and returns the age of
	// the oldest.
	Depth(ctx context.Context, state State, limit int) (count int64, oldest time.Duration, err error)
	// Backlogs returns the backlogs of at most this many kinds, ordered by
	// name. It counts at most limit queues of each kind.
	Backlogs(ctx context.Context, kinds, limit int) ([]Backlog, error)
}

// DueCounts counts the tasks that were due. Requeued tasks returned to their
// queues. Dead tasks are dead because the lease of their last attempt ended.
type DueCounts struct{ Requeued, Dead int }

// Count counts one task after HandleDue.
func (r *DueCounts) Count(task *Task) {
	if task.State == StateDead {
		r.Dead++
	} else {
		r.Requeued++
	}
}

// MaintainerConfig configures a Maintainer.
type MaintainerConfig struct {
	Store    MaintenanceStore
	Logger   *slog.Logger          // nil: slog.Default
	Registry prometheus.Registerer // nil: not measured
}

// Maintainer returns due tasks to their queues and deletes ended tasks. Each node runs one.
// Several may work at the same time.
type Maintainer struct {
	MaintainerConfig

	metrics     *maintenanceMetrics
	lastCleanup time.Time // when ended tasks were last deleted, and all tasks counted; owned by Run
}

const (
	rowsPerStep      = 500              // rows of a call of a step, which is one transaction
	maxRepeats       = 100              // calls of a step in a round, so that other steps are not delayed for long
	dueInterval      = time.Second      // between two rounds: how late a due task may return
	cleanupInterval  = 10 * time.Second // between two cleanups, which also update the gauges
	maxCountedTasks  = 100_000          // per state
	maxCountedKinds  = 1000
	maxCountedQueues = 10_000 // per kind
)

// NewMaintainer returns a Maintainer.
func NewMaintainer(c MaintainerConfig) *Maintainer {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return &Maintainer{MaintainerConfig: c, metrics: newMaintenanceMetrics(c.Registry)}
}

// Run maintains the queue until the context ends, and then returns nil. It logs
// the first failure of a series and retries.
func (m *Maintainer) Run(ctx context.Context) error {
	round := timer.LogFailures(m.Logger, "task queue maintenance", func(ctx context.Context) error {
		err := m.runRound(ctx)
		if err != nil && ctx.Err() == nil {
			m.metrics.failures.Inc()
		}
		return err
	})
	round(ctx)
	timer.Every(ctx, dueInterval, round)
	return nil
}

// runRound returns due tasks, and cleans up once per cleanupInterval.
func (m *Maintainer) runRound(ctx context.Context) error {
	if _, err := repeatStep(ctx, m.returnDue); err != nil {
		return fmt.Errorf("taskqueue: return due tasks: %w", err)
	}
	if time.Since(m.lastCleanup) < cleanupInterval {
		return nil
	}
	hasMore, err := repeatStep(ctx, m.forgetTasks)
	if err != nil {
		return fmt.Errorf("taskqueue: delete ended tasks: %w", err)
	}
	if err := m.updateGauges(ctx); err != nil {
		return fmt.Errorf("taskqueue: count tasks: %w", err)
	}
	if !hasMore {
		m.lastCleanup = time.Now()
	}
	return nil
}

// repeatStep repeats a step until a call changes fewer than rowsPerStep rows. hasMore means
// that it stopped before.
func repeatStep(ctx context.Context, step func(context.Context) (int, error)) (hasMore bool, err error) {
	for range maxRepeats {
		callCtx, cancel := context.WithTimeout(ctx, callTimeout)
		count, err := step(callCtx)
		cancel()
		if err != nil || count < rowsPerStep {
			return false, err
		}
	}
	return true, nil
}

// returnDue is the step that handles due tasks. It returns how many were due.
func (m *Maintainer) returnDue(ctx context.Context) (int, error) {
	counts, err := m.Store.ReturnDue(ctx, rowsPerStep)
	m.metrics.returned.Add(float64(counts.Requeued))
	m.metrics.expired.Add(float64(counts.Dead))
	if counts.Dead > 0 {
		m.Logger.Error("tasks are dead because the leases of their last attempts ended; see `server tasks list`", "tasks", counts.Dead)
	}
	return counts.Requeued + counts.Dead, err
}

// forgetTasks is the step that deletes ended tasks. It returns how many it deleted.
func (m *Maintainer) forgetTasks(ctx context.Context) (int, error) {
	deleted, err := m.Store.ForgetTasks(ctx, rowsPerStep)
	m.metrics.forgotten.Add(float64(deleted))
	return deleted, err
}

func (m *Maintainer) updateGauges(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, state := range []State{StateWaiting, StateClaimed, StateLater, StateDead} {
		count, oldest, err := m.Store.Depth(ctx, state, maxCountedTasks)
		if err != nil {
			return err
		}
		m.metrics.tasks.WithLabelValues(string(state)).Set(float64(count))
		m.metrics.oldest.WithLabelValues(string(state)).Set(oldest.Seconds())
	}
	backlogs, err := m.Store.Backlogs(ctx, maxCountedKinds, maxCountedQueues)
	if err != nil {
		return err
	}
	m.metrics.setBacklogs(backlogs)
	return nil
}
