package taskqueue

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Renew makes leases end this time from now, and returns the lost ones. Leases of
// tasks that do not belong to the game count as lost. It returns ErrBadRequest
// for bad input.
func (q *TenantQueue) Renew(ctx context.Context, game string, leases []Lease, lease time.Duration) ([]Lease, error) {
	if err := checkLease(lease); err != nil {
		return nil, err
	}
	return q.callForGameLeases(ctx, game, leases, func(gameLeases []Lease, _ map[string]Task) ([]Lease, error) {
		return q.claims.Renew(ctx, gameLeases, lease)
	})
}

// Complete makes tasks done, and returns the lost leases. Leases of tasks that do
// not belong to the game count as lost.
func (q *TenantQueue) Complete(ctx context.Context, game string, leases []Lease) ([]Lease, error) {
	return q.callForGameLeases(ctx, game, leases, func(gameLeases []Lease, _ map[string]Task) ([]Lease, error) {
		lost, err := q.claims.Complete(ctx, gameLeases)
		if err == nil {
			q.metrics.completed.Add(float64(len(gameLeases) - len(lost)))
		}
		return lost, err
	})
}

// Fail records failed attempts, and returns the lost leases. Leases of tasks that
// do not belong to the game count as lost. If Wait is 0, the task waits a random
// time: up to 1 s after the first attempt, doubled each time, up to 10 min.
func (q *TenantQueue) Fail(ctx context.Context, game string, failed []FailedAttempt) ([]Lease, error) {
	var leases []Lease
	for i := range failed {
		if err := failed[i].check(); err != nil {
			return nil, fmt.Errorf("tasks[%d]: %w", i, err)
		}
		leases = append(leases, failed[i].Lease)
	}
	return q.callForGameLeases(ctx, game, leases, func(gameLeases []Lease, byID map[string]Task) ([]Lease, error) {
		attempts := make([]FailedAttempt, len(gameLeases))
		for i, lease := range gameLeases {
			attempt := failed[slices.IndexFunc(failed, func(attempt FailedAttempt) bool { return attempt.Lease == lease })] // the first report of a lease counts
			if attempt.Wait == 0 {
				attempt.Wait = q.backoff.randomWait(byID[attempt.ID].Tries + 1)
			}
			attempts[i] = attempt
		}
		lost, err := q.claims.Fail(ctx, attempts)
		for _, attempt := range attempts {
			if err == nil && !slices.Contains(lost, attempt.Lease) {
				q.metrics.recordFailure(attempt, byID[attempt.ID])
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

// callForGameLeases calls a function with the leases that belong to tasks of the game,
// each once. The function also gets these tasks by id, as they are before the
// call. callForGameLeases returns as lost all other leases, and those that the
// function returns.
func (q *TenantQueue) callForGameLeases(
	ctx context.Context, game string, leases []Lease, call func(gameLeases []Lease, byID map[string]Task) (lost []Lease, err error),
) (lost []Lease, err error) {
	if err := checkCount(len(leases)); err != nil {
		return nil, err
	}
	ids := make([]string, len(leases))
	for i, lease := range leases {
		ids[i] = lease.ID
	}
	tasks, err := q.store.GameTasks(ctx, game, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Task, len(tasks))
	for _, task := range tasks {
		if task.stripTopic(game) {
			byID[task.ID] = task
		}
	}
	var gameLeases []Lease
	for _, lease := range leases {
		switch _, ok := byID[lease.ID]; {
		case !ok:
			lost = append(lost, lease)
		case !slices.Contains(gameLeases, lease):
			gameLeases = append(gameLeases, lease)
		}
	}
	if len(gameLeases) > 0 {
		alsoLost, err := call(gameLeases, byID)
		if err != nil {
			return nil, err
		}
		lost = append(lost, alsoLost...)
	}
	q.metrics.failures.WithLabelValues(reasonLost).Add(float64(len(lost)))
	return lost, nil
}
