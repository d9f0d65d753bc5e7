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

// Keeping is what the queue does of itself, in slices of n.
type MaintenanceStore interface {
	// ReturnDue sees to tasks whose wait or lease is over.
	ReturnDue(ctx context.Context, n int) (Returned, error)
	// NextDue is how long it is until ReturnDue has something to do, if it will.
	NextDue(ctx context.Context) (wait time.Duration, ok bool, err error)
	// MoveDone moves done cursors of lines after one, and gives the last that it
	// looked at, how many those were, and how many it moved.
	MoveDone(ctx context.Context, after QueueID, n int) (last QueueID, seen, moved int, err error)
	// ForgetTasks removes tasks that ended long ago.
	ForgetTasks(ctx context.Context, n int) (count int, err error)
	// Depth is how many tasks there are of a state, counted up to a number, and how
	// old the oldest is.
	Depth(ctx context.Context, state State, upTo int) (count int64, oldest time.Duration, err error)
	// Backlogs are those of up to so many kinds, by name, each counted in up to so
	// many lines.
	Backlogs(ctx context.Context, kinds, upTo int) ([]Backlog, error)
}

// Returned is how many tasks were due: those that went back into their lines, and
// those that are dead, as the lease of their last try was over.
type Returned struct{ Back, Dead int }

// Note counts a task that was due, as it is since.
func (r *Returned) Note(t *Task) {
	if t.State == Dead {
		r.Dead++
	} else {
		r.Back++
	}
}

// KeeperConfig is what a keeper needs.
type MaintainerConfig struct {
	Store    MaintenanceStore
	Notifier *Notifier             // tells it that there may be something to do
	Poll     time.Duration         // it looks all the same, as other nodes ring other bells; 0: a minute
	Logger   *slog.Logger          // nil: slog.Default
	Registry prometheus.Registerer // nil: not measured
}

// Keeper brings back what is due, moves the done cursors and forgets what ended.
// Each node has one; they get along.
type Maintainer struct {
	MaintainerConfig

	notified  <-chan struct{}
	metrics   *maintenanceMetrics
	lastCount time.Time // when tasks were last counted; Run's
}

const (
	sliceRows    = 500                   // rows of a transaction
	maxSlices    = 100                   // of each thing in a round: another may be waiting
	busyInterval = time.Second           // between two rounds while there is something to do
	minWait      = 10 * time.Millisecond // what is due may be another's that is at it
	countEvery   = 10 * time.Second      // at the most: nobody looks more often
	countUpTo    = 100_000
	countKinds   = 1000
	countLines   = 10_000 // of a kind
)

// NewKeeper makes a keeper.
func NewMaintainer(c MaintainerConfig) *Maintainer {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Poll = cmp.Or(c.Poll, time.Minute)
	return &Maintainer{MaintainerConfig: c, notified: c.Notifier.Subscribe(""), metrics: newMaintenanceMetrics(c.Registry)}
}

// Run keeps the queue until the context ends.
func (k *Maintainer) Run(ctx context.Context) error {
	failing := false
	for ctx.Err() == nil {
		wait, err := k.round(ctx)
		if err != nil && ctx.Err() == nil {
			wait = busyInterval
			k.metrics.failures.Inc()
			if !failing {
				k.Logger.Warn("the durable queue is not kept up; it is tried again", "error", err)
			}
		}
		failing = err != nil
		k.waitForWork(ctx, wait)
	}
	return nil
}

// rest waits, less if the bell rings, but never so little that a busy queue is
// looked at all the time.
func (k *Maintainer) waitForWork(ctx context.Context, wait time.Duration) {
	if !sleep(ctx, min(wait, busyInterval), nil) {
		return
	}
	sleep(ctx, wait-busyInterval, k.notified)
}

// sleep waits until a time is over or it is rung; false: the context has ended.
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

// round does all that there is to do now, and says how long there is nothing, at
// most a poll.
func (k *Maintainer) round(ctx context.Context) (rest time.Duration, err error) {
	due, err := k.nextDue(ctx)
	if err != nil {
		return 0, fmt.Errorf("taskqueue: what is due next: %w", err)
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
		return 0, fmt.Errorf("taskqueue: forget tasks: %w", err)
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

// nextDue is when there is something due, at most a poll from now.
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

// slices repeats a step until it finds less than a slice.
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

func (k *Maintainer) returnDue(ctx context.Context, n int) (int, error) {
	r, err := k.Store.ReturnDue(ctx, n)
	k.metrics.returned.Add(float64(r.Back))
	k.metrics.expired.Add(float64(r.Dead))
	if r.Dead > 0 {
		k.Logger.Error("tasks are dead, as the leases of their last tries ended; see `server tasks list`", "tasks", r.Dead)
	}
	return r.Back + r.Dead, err
}

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

// count shows how much there is, unless that was done of late.
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

// jittered is some three quarters to five quarters of a time, so that nodes do
// not do together what each does by itself.
func jittered(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1) //nolint:gosec // a wait is no secret
}
