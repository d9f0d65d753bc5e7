package taskqueue

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// MaintenanceStore has the maintenance steps of a store. Each call of a step
// changes at most n rows.
type MaintenanceStore interface {
	// ReturnDue calls HandleDue for tasks whose DueAt has passed.
	ReturnDue(ctx context.Context, n int) (Returned, error)
	// NextDue returns the time until a task is due. ok is false if no task
	// has a DueAt.
	NextDue(ctx context.Context) (wait time.Duration, ok bool, err error)
	// MoveDone moves the cursor Done forward in up to n queues that follow the
	// queue after. It returns the last queue it read, how many it read and how
	// many it moved.
	MoveDone(ctx context.Context, after QueueID, n int) (last QueueID, seen, moved int, err error)
	// ForgetTasks deletes tasks that ended more than 7 days ago.
	ForgetTasks(ctx context.Context, n int) (count int, err error)
	// Depth counts the tasks of a state, up to a limit, and returns the age of
	// the oldest.
	Depth(ctx context.Context, state State, upTo int) (count int64, oldest time.Duration, err error)
	// Backlogs returns the backlogs of at most this many kinds, ordered by
	// name. It counts at most limit queues of each kind.
	Backlogs(ctx context.Context, kinds, upTo int) ([]Backlog, error)
}

// DueCounts counts the tasks that were due. Requeued tasks returned to their
// queues. Dead tasks are dead because the lease of their last attempt ended.
type Returned struct{ Back, Dead int }

// Note counts one task after HandleDue.
func (r *Returned) Note(t *Task) {
	if t.State == Dead {
		r.Dead++
	} else {
		r.Back++
	}
}

// MaintainerConfig configures a Maintainer.
type MaintainerConfig struct {
	Store    MaintenanceStore
	Notifier *Notifier             // wakes the Maintainer when a task of this process changes
	Poll     time.Duration         // longest pause between two rounds, because changes of other nodes do not notify it; 0: 1 min
	Logger   *slog.Logger          // nil: slog.Default
	Registry prometheus.Registerer // nil: not measured
}

// Maintainer returns due tasks to their queues, moves the cursors Done and
// deletes ended tasks. Each node runs one. Several may work at the same time.
type Maintainer struct {
	MaintainerConfig

	notified  <-chan struct{} // has a value after a notification of any kind
	metrics   *maintenanceMetrics
	lastCount time.Time // when tasks were last counted; owned by Run
}

const (
	sliceRows    = 500                   // rows of a call of a step, which is one transaction
	maxSlices    = 100                   // calls of a step in a round, so that other steps are not delayed for long
	busyInterval = time.Second           // pause between two rounds while there is work
	minWait      = 10 * time.Millisecond // shortest pause, because another node may be handling the due task
	countEvery   = 10 * time.Second      // between two updates of the gauges; scrapes are not more frequent
	countUpTo    = 100_000               // per state
	countKinds   = 1000
	countLines   = 10_000 // per kind
)

// NewMaintainer returns a Maintainer.
func NewMaintainer(c MaintainerConfig) *Maintainer {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Poll = cmp.Or(c.Poll, time.Minute)
	return &Maintainer{MaintainerConfig: c, notified: c.Notifier.Subscribe(""), metrics: newMaintenanceMetrics(c.Registry)}
}

// Run maintains the queue until the context ends, and then returns nil. It logs
// the first failure of a series and retries.
func (k *Maintainer) Run(ctx context.Context) error {
	failing := false
	for ctx.Err() == nil {
		wait, err := k.round(ctx)
		if err != nil && ctx.Err() == nil {
			wait = busyInterval
			k.metrics.failures.Inc()
			if !failing {
				k.Logger.Warn("task queue maintenance failed; the server retries it", "error", err)
			}
		}
		failing = err != nil
		k.waitForWork(ctx, wait)
	}
	return nil
}

// waitForWork waits until the time is over or a notification comes. It always
// waits at least busyInterval (or the time, if that is shorter), so that a busy
// queue does not cause constant reads.
func (k *Maintainer) waitForWork(ctx context.Context, wait time.Duration) {
	if !sleep(ctx, min(wait, busyInterval), nil) {
		return
	}
	sleep(ctx, wait-busyInterval, k.notified)
}

// sleep waits until the time is over or notified has a value. It returns false
// if the context has ended.
func sleep(ctx context.Context, d time.Duration, notified <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-notified:
	case <-timer.C:
	}
	return true
}

// round makes all maintenance steps that are possible now. It returns the time
// until the next round, at most about PollInterval.
func (k *Maintainer) round(ctx context.Context) (rest time.Duration, err error) {
	due, err := k.nextDue(ctx)
	if err != nil {
		return 0, fmt.Errorf("taskqueue: read the next due time: %w", err)
	}
	returned := 0
	if time.Until(due) <= 0 {
		returned, err = k.repeat(ctx, k.returnDue)
	}
	if err != nil {
		return 0, fmt.Errorf("taskqueue: return due tasks: %w", err)
	}
	moved, err := k.moveDone(ctx)
	if err != nil {
		return 0, fmt.Errorf("taskqueue: move done cursors: %w", err)
	}
	forgotten, err := k.repeat(ctx, k.Store.ForgetTasks)
	if err != nil {
		return 0, fmt.Errorf("taskqueue: delete ended tasks: %w", err)
	}
	k.metrics.forgotten.Add(float64(forgotten))
	if err := k.updateCounts(ctx); err != nil {
		return 0, fmt.Errorf("taskqueue: count tasks: %w", err)
	}
	if returned+moved+forgotten > 0 {
		return busyInterval, nil
	}
	return max(time.Until(due), minWait), nil
}

// nextDue returns when the next task is due, at most about PollInterval from
// now.
func (k *Maintainer) nextDue(ctx context.Context) (time.Time, error) {
	now := time.Now()
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	wait, ok, err := k.Store.NextDue(call)
	if poll := jittered(k.Poll); !ok || wait > poll {
		wait = poll
	}
	return now.Add(wait), err
}

// repeat repeats a step until a call changes fewer than rowsPerStep rows. It
// returns how many rows changed.
func (k *Maintainer) repeat(ctx context.Context, step func(context.Context, int) (int, error)) (total int, err error) {
	for range maxSlices {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		count, err := step(call, sliceRows)
		cancel()
		if total += count; err != nil || count < sliceRows {
			return total, err
		}
	}
	return total, nil
}

// returnDue is the step that handles due tasks. It returns how many were due.
func (k *Maintainer) returnDue(ctx context.Context, n int) (int, error) {
	r, err := k.Store.ReturnDue(ctx, n)
	k.metrics.returned.Add(float64(r.Back))
	k.metrics.expired.Add(float64(r.Dead))
	if r.Dead > 0 {
		k.Logger.Error("tasks are dead because the leases of their last attempts ended; see `server tasks list`", "tasks", r.Dead)
	}
	return r.Back + r.Dead, err
}

// moveDone moves the cursors Done of all queues. It returns how many it moved.
func (k *Maintainer) moveDone(ctx context.Context) (total int, err error) {
	var after QueueID
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		last, seen, moved, err := k.Store.MoveDone(call, after, sliceRows)
		cancel()
		if total += moved; err != nil || seen < sliceRows {
			return total, err
		}
		after = last
	}
}

// updateCounts updates the gauges, at most once per countInterval.
func (k *Maintainer) updateCounts(ctx context.Context) error {
	if time.Since(k.lastCount) < countEvery {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, state := range []State{Waiting, Claimed, Later, Dead} {
		count, oldest, err := k.Store.Depth(ctx, state, countUpTo)
		if err != nil {
			return err
		}
		k.metrics.setDepth(state, count, oldest)
	}
	backlogs, err := k.Store.Backlogs(ctx, countKinds, countLines)
	if err != nil {
		return err
	}
	k.metrics.setBacklogs(backlogs)
	k.lastCount = time.Now()
	return nil
}

// jittered returns a random time between 3/4 and 5/4 of d, so that nodes do not
// all work at the same moment.
func jittered(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1) //nolint:gosec // a wait is no secret
}
