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
func (t *Task) disown(game string) (ok bool) {
	t.Topic, ok = strings.CutPrefix(t.Topic, own(game, ""))
	return ok && t.Game == game
}

// Renew has leases begin anew, as Claims does; those of tasks that are not the
// game's own are lost. ErrBadAsk.
func (f *Front) Renew(ctx context.Context, game string, leases []Lease, lease time.Duration) ([]Lease, error) {
	if err := checkLease(lease); err != nil {
		return nil, err
	}
	return f.ofOwn(ctx, game, leases, func(held []Lease, _ map[string]Task) ([]Lease, error) {
		return f.store.Renew(ctx, held, lease)
	})
}

// Complete ends tries that succeeded, as Renew does its part.
func (f *Front) Complete(ctx context.Context, game string, leases []Lease) ([]Lease, error) {
	return f.ofOwn(ctx, game, leases, func(held []Lease, _ map[string]Task) ([]Lease, error) {
		lost, err := f.store.Complete(ctx, held)
		if err == nil {
			f.metrics.completed.Add(float64(len(held) - len(lost)))
		}
		return lost, err
	})
}

// Fail ends tries that failed, likewise. A Wait of 0 is left to the back-off: up
// to 1 s after the first try, doubled from try to try, up to 10 min.
func (f *Front) Fail(ctx context.Context, game string, failed []Failed) ([]Lease, error) {
	for i := range failed {
		if err := failed[i].check(); err != nil {
			return nil, fmt.Errorf("tasks[%d]: %w", i, err)
		}
	}
	return f.ofOwn(ctx, game, leasesOf(failed), func(held []Lease, of map[string]Task) ([]Lease, error) {
		ends := make([]Failed, len(held))
		for i, lease := range held {
			x := failed[slices.IndexFunc(failed, func(x Failed) bool { return x.Lease == lease })] // what is said first
			if x.Wait == 0 {
				x.Wait = f.backoff.wait(of[x.ID].Tries + 1)
			}
			ends[i] = x
		}
		lost, err := f.store.Fail(ctx, ends)
		for _, x := range ends {
			if err == nil && !slices.Contains(lost, x.Lease) {
				f.metrics.failed(x, of[x.ID])
			}
		}
		return lost, err
	})
}

// check refuses what a game's own worker may not say of a try.
func (f *Failed) check() error {
	switch {
	case f.Why == nil || f.Why.Error() == "":
		return fmt.Errorf("%w: say why the try failed", ErrBadAsk)
	case f.Wait < 0 || f.Wait > MaxAfter:
		return fmt.Errorf("%w: a wait of %s: want up to %s", ErrBadAsk, f.Wait, MaxAfter)
	case f.Final && f.Postponed:
		return fmt.Errorf("%w: a task is either postponed or given up", ErrBadAsk)
	}
	return nil
}

// ofOwn has leases seen to by a call that is for those of the game's own tasks,
// each once, and gets these by id, as they were before. The others are lost, as
// are those that the call gives.
func (f *Front) ofOwn(
	ctx context.Context, game string, leases []Lease, call func(held []Lease, of map[string]Task) (lost []Lease, err error),
) (lost []Lease, err error) {
	if err := countOf(len(leases)); err != nil {
		return nil, err
	}
	of, err := f.tasksOf(ctx, game, leases)
	if err != nil {
		return nil, err
	}
	var held []Lease
	for _, lease := range leases {
		switch _, ok := of[lease.ID]; {
		case !ok:
			lost = append(lost, lease)
		case !slices.Contains(held, lease):
			held = append(held, lease)
		}
	}
	if len(held) > 0 {
		gone, err := call(held, of)
		if err != nil {
			return nil, err
		}
		lost = append(lost, gone...)
	}
	f.metrics.failures.WithLabelValues(reasonLost).Add(float64(len(lost)))
	return lost, nil
}

// tasksOf are the game's own tasks that leases name, by id.
func (f *Front) tasksOf(ctx context.Context, game string, leases []Lease) (map[string]Task, error) {
	ids := make([]string, len(leases))
	for i, lease := range leases {
		ids[i] = lease.ID
	}
	tasks, err := f.store.TasksOf(ctx, game, ids)
	of := make(map[string]Task, len(tasks))
	for _, t := range tasks {
		if t.disown(game) {
			of[t.ID] = t
		}
	}
	return of, err
}
