package taskqueue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// stripTopic replaces the stored topic of the task by the topic that the game
// uses. It reports whether the task belongs to the game.
func (t *Task) stripTopic(game string) (ok bool) {
	t.Topic, ok = strings.CutPrefix(t.Topic, storedTopic(game, ""))
	return ok && t.Game == game
}

// Renew makes leases end this time from now, and returns the lost ones. Leases of
// tasks that do not belong to the game count as lost. It returns ErrBadRequest
// for bad input.
func (f *TenantQueue) Renew(ctx context.Context, game string, leases []Lease, lease time.Duration) ([]Lease, error) {
	if err := checkLease(lease); err != nil {
		return nil, err
	}
	return f.callForOwn(ctx, game, leases, func(held []Lease, _ map[string]Task) ([]Lease, error) {
		return f.store.Renew(ctx, held, lease)
	})
}

// Complete makes tasks done, and returns the lost leases. Leases of tasks that do
// not belong to the game count as lost.
func (f *TenantQueue) Complete(ctx context.Context, game string, leases []Lease) ([]Lease, error) {
	return f.callForOwn(ctx, game, leases, func(held []Lease, _ map[string]Task) ([]Lease, error) {
		lost, err := f.store.Complete(ctx, held)
		if err == nil {
			f.metrics.completed.Add(float64(len(held) - len(lost)))
		}
		return lost, err
	})
}

// Fail records failed attempts, and returns the lost leases. Leases of tasks that
// do not belong to the game count as lost. If Wait is 0, the task waits a random
// time: up to 1 s after the first attempt, doubled each time, up to 10 min.
func (f *TenantQueue) Fail(ctx context.Context, game string, failed []FailedAttempt) ([]Lease, error) {
	for i := range failed {
		if err := failed[i].check(); err != nil {
			return nil, fmt.Errorf("tasks[%d]: %w", i, err)
		}
	}
	return f.callForOwn(ctx, game, leasesOf(failed), func(held []Lease, byID map[string]Task) ([]Lease, error) {
		ends := make([]FailedAttempt, len(held))
		for i, lease := range held {
			x := failed[slices.IndexFunc(failed, func(x FailedAttempt) bool { return x.Lease == lease })] // the first report of a lease counts
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

// check returns ErrBadRequest for a report that a game's worker must not make.
func (f *FailedAttempt) check() error {
	switch {
	case f.Err == nil || f.Err.Error() == "":
		return fmt.Errorf("%w: the error text is empty; say why the attempt failed", ErrBadRequest)
	case f.Wait < 0 || f.Wait > MaxRetryWait:
		return fmt.Errorf("%w: a wait of %s: want up to %s", ErrBadRequest, f.Wait, MaxRetryWait)
	case f.Final && f.Postponed:
		return fmt.Errorf("%w: a task is either postponed or given up", ErrBadRequest)
	}
	return nil
}

// callForOwn calls a function with the leases that belong to tasks of the game,
// each once. The function also gets these tasks by id, as they are before the
// call. callForGameLeases returns as lost all other leases, and those that the
// function returns.
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

// tasksOf returns the tasks of these leases that belong to the game, by id.
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
