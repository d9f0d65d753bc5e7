package taskqueue

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/timer"
)

// MaintenanceStore has the maintenance steps of a store. Each call of a step
// changes at most n rows.
type MaintenanceStore interface {
	// ReturnDue calls HandleDue for tasks whose DueAt has passed.
	ReturnDue(ctx context.Context, n int) (DueCounts, error)
	// NextDue returns the time until a task is due. ok is false if no task
	// has a DueAt.
	NextDue(ctx context.Context) (wait time.Duration, ok bool, err error)
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
	Store        MaintenanceStore
	Notifier     *Notifier             // wakes the Maintainer when a task of this process changes
	PollInterval time.Duration         // longest pause between two rounds, because changes of other nodes do not notify it; 0: 1 min
	Logger       *slog.Logger          // nil: slog.Default
	Registry     prometheus.Registerer // nil: not measured
}

// Maintainer returns due tasks to their queues and deletes ended tasks. Each node runs one.
// Several may work at the same time.
type Maintainer struct {
	MaintainerConfig

	notified    <-chan struct{} // has a value after a notification of any kind
	metrics     *maintenanceMetrics
	lastCountAt time.Time // when tasks were last counted; owned by Run
}

const (
	rowsPerStep      = 500                   // rows of a call of a step, which is one transaction
	maxRepeats       = 100                   // calls of a step in a round, so that other steps are not delayed for long
	busyInterval     = time.Second           // pause between two rounds while there is work
	minRoundInterval = 10 * time.Millisecond // shortest pause, because another node may be handling the due task
	countInterval    = 10 * time.Second      // between two updates of the gauges; scrapes are not more frequent
	maxCountedTasks  = 100_000               // per state
	maxCountedKinds  = 1000
	maxCountedQueues = 10_000 // per kind
)

// NewMaintainer returns a Maintainer.
func NewMaintainer(c MaintainerConfig) *Maintainer {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.PollInterval = cmp.Or(c.PollInterval, time.Minute)
	return &Maintainer{MaintainerConfig: c, notified: c.Notifier.Subscribe(""), metrics: newMaintenanceMetrics(c.Registry)}
}

// Run maintains the queue until the context ends, and then returns nil. It logs
// the first failure of a series and retries.
func (m *Maintainer) Run(ctx context.Context) error {
	var wait time.Duration
	round := timer.LogFailures(m.Logger, "task queue maintenance", func(ctx context.Context) (err error) {
		if wait, err = m.runRound(ctx); err != nil && ctx.Err() == nil {
			wait = busyInterval
			m.metrics.failures.Inc()
		}
		return err
	})
	for ctx.Err() == nil {
		round(ctx)
		m.waitForWork(ctx, wait)
	}
	return nil
}

// waitForWork waits until the time is over or a notification comes. It always
// waits at least busyInterval (or the time, if that is shorter), so that a busy
// queue does not cause constant reads.
func (m *Maintainer) waitForWork(ctx context.Context, wait time.Duration) {
	if !timer.Sleep(ctx, min(wait, busyInterval)) {
		return
	}
	timer := time.NewTimer(wait - busyInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-m.notified:
	case <-timer.C:
	}
}

// runRound makes all maintenance steps that are possible now. It returns the time
// until the next round, at most about PollInterval.
func (m *Maintainer) runRound(ctx context.Context) (rest time.Duration, err error) {
	due, err := m.nextDue(ctx)
	if err != nil {
		return 0, fmt.Errorf("taskqueue: read the next due time: %w", err)
	}
	returned := 0
	if time.Until(due) <= 0 {
		if returned, err = repeatStep(ctx, m.returnDue); err != nil {
			return 0, fmt.Errorf("taskqueue: return due tasks: %w", err)
		}
	}
	deleted, err := repeatStep(ctx, m.Store.ForgetTasks)
	if err != nil {
		return 0, fmt.Errorf("taskqueue: delete ended tasks: %w", err)
	}
	m.metrics.forgotten.Add(float64(deleted))
	if err := m.updateGauges(ctx); err != nil {
		return 0, fmt.Errorf("taskqueue: count tasks: %w", err)
	}
	if returned+deleted > 0 {
		return busyInterval, nil
	}
	return max(time.Until(due), minRoundInterval), nil
}

// nextDue returns when the next task is due, at most about PollInterval from
// now.
func (m *Maintainer) nextDue(ctx context.Context) (time.Time, error) {
	now := time.Now()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	wait, ok, err := m.Store.NextDue(ctx)
	if poll := withJitter(m.PollInterval); !ok || wait > poll {
		wait = poll
	}
	return now.Add(wait), err
}

// repeatStep repeats a step until a call changes fewer than rowsPerStep rows. It
// returns how many rows changed.
func repeatStep(ctx context.Context, step func(context.Context, int) (int, error)) (total int, err error) {
	for range maxRepeats {
		callCtx, cancel := context.WithTimeout(ctx, callTimeout)
		count, err := step(callCtx, rowsPerStep)
		cancel()
		if total += count; err != nil || count < rowsPerStep {
			return total, err
		}
	}
	return total, nil
}

// returnDue is the step that handles due tasks. It returns how many were due.
func (m *Maintainer) returnDue(ctx context.Context, n int) (int, error) {
	counts, err := m.Store.ReturnDue(ctx, n)
	m.metrics.returned.Add(float64(counts.Requeued))
	m.metrics.expired.Add(float64(counts.Dead))
	if counts.Dead > 0 {
		m.Logger.Error("tasks are dead because the leases of their last attempts ended; see `server tasks list`", "tasks", counts.Dead)
	}
	return counts.Requeued + counts.Dead, err
}

// updateGauges updates the gauges, at most once per countInterval.
func (m *Maintainer) updateGauges(ctx context.Context) error {
	if time.Since(m.lastCountAt) < countInterval {
		return nil
	}
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
	m.lastCountAt = time.Now()
	return nil
}

// withJitter returns a random time between 3/4 and 5/4 of d, so that nodes do not
// all work at the same moment.
func withJitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1) //nolint:gosec // a wait is no secret
}
