package taskqueue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// disown has a task of a game's own bear its topic as the game knows it; false
// for any other task.
func (t *Task) stripTopic(game string) (ok bool) {
	t.Topic, ok = strings.CutPrefix(t.Topic, storedTopic(game, ""))
	return ok && t.Game == game
}

// Renew has leases begin anew, as Claims does; those of tasks that are not the
// game's own are lost. ErrBadAsk.
func (f *TenantQueue) Renew(ctx context.Context, game string, leases []Lease, lease time.Duration) ([]Lease, error) {
	if err := checkLease(lease); err != nil {
		return nil, err
	}
	return f.callForOwn(ctx, game, leases, func(held []Lease, _ map[string]Task) ([]Lease, error) {
		return f.store.Renew(ctx, held, lease)
	})
}

// Complete ends tries that succeeded, as Renew does its part.
func (f *TenantQueue) Complete(ctx context.Context, game string, leases []Lease) ([]Lease, error) {
	return f.callForOwn(ctx, game, leases, func(held []Lease, _ map[string]Task) ([]Lease, error) {
		lost, err := f.store.Complete(ctx, held)
		if err == nil {
			f.metrics.completed.Add(float64(len(held) - len(lost)))
		}
		return lost, err
	})
}

// Fail ends tries that failed, likewise. A Wait of 0 is left to the back-off: up
// to 1 s after the first try, doubled from try to try, up to 10 min.
func (f *TenantQueue) Fail(ctx context.Context, game string, failed []FailedAttempt) ([]Lease, error) {
	for i := range failed {
		if err := failed[i].check(); err != nil {
			return nil, fmt.Errorf("tasks[%d]: %w", i, err)
		}
	}
	return f.callForOwn(ctx, game, leasesOf(failed), func(held []Lease, byID map[string]Task) ([]Lease, error) {
		ends := make([]FailedAttempt, len(held))
		for i, lease := range held {
			x := failed[slices.IndexFunc(failed, func(x FailedAttempt) bool { return x.Lease == lease })] // what is said first
			if x.Wait == 0 {
				x.Wait = f.backoff.wait(byID[x.ID].Tries + 1)
			}
			ends[i] = x
		}
		lost, err := f.store.Fail(ctx, ends)
		for _, x := range ends {
			if err == nil && !slices.Contains(lost, x.Lease) {
				f.metrics.recordFailure(x, byID[x.ID])
			}
		}
		return lost, err
	})
}

// check refuses what a game's own worker may not say of a try.
func (f *FailedAttempt) check() error {
	switch {
	case f.Err == nil || f.Err.Error() == "":
		return fmt.Errorf("%w: say why the try failed", ErrBadRequest)
	case f.Wait < 0 || f.Wait > MaxRetryWait:
		return fmt.Errorf("%w: a wait of %s: want up to %s", ErrBadRequest, f.Wait, MaxRetryWait)
	case f.Final && f.Postponed:
		return fmt.Errorf("%w: a task is either postponed or given up", ErrBadRequest)
	}
	return nil
}

// ofOwn has leases seen to by a call that is for those of the game's own tasks,
// each once, and gets these by id, as they were before. The others are lost, as
// are those that the call gives.
func (f *TenantQueue) callForOwn(
	ctx context.Context, game string, leases []Lease, call func(held []Lease, byID map[string]Task) (lost []Lease, err error),
) (lost []Lease, err error) {
	if err := checkCount(len(leases)); err != nil {
		return nil, err
	}
	byID, err := f.tasksOf(ctx, game, leases)
	if err != nil {
		return nil, err
	}
	var held []Lease
	for _, lease := range leases {
		switch _, ok := byID[lease.ID]; {
		case !ok:
			lost = append(lost, lease)
		case !slices.Contains(held, lease):
			held = append(held, lease)
		}
	}
	if len(held) > 0 {
		alsoLost, err := call(held, byID)
		if err != nil {
			return nil, err
		}
		lost = append(lost, alsoLost...)
	}
	f.metrics.failures.WithLabelValues(reasonLost).Add(float64(len(lost)))
	return lost, nil
}

// tasksOf are the game's own tasks that leases name, by id.
func (f *TenantQueue) tasksOf(ctx context.Context, game string, leases []Lease) (map[string]Task, error) {
	ids := make([]string, len(leases))
	for i, lease := range leases {
		ids[i] = lease.ID
	}
	tasks, err := f.store.TasksOf(ctx, game, ids)
	byID := make(map[string]Task, len(tasks))
	for _, t := range tasks {
		if t.stripTopic(game) {
			byID[t.ID] = t
		}
	}
	return byID, err
}
