package taskqueue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Renew makes leases end this time from now, and returns the lost ones. Leases of
// tasks that do not belong to the game count as lost. It returns ErrBadRequest
// for bad input.
func (q *TenantQueue) Renew(ctx context.Context, game string, leases []Lease, lease time.Duration) (lost []Lease, err error) {
	if err := cmp.Or(checkLease(lease), checkCount(len(leases))); err != nil {
		return nil, err
	}
	lost, err = q.gameClaims(game).Renew(ctx, distinct(leases), lease)
	q.metrics.countLost(lost)
	return lost, err
}

// Complete makes tasks done, and returns the lost leases. Leases of tasks that do
// not belong to the game count as lost.
func (q *TenantQueue) Complete(ctx context.Context, game string, leases []Lease) (lost []Lease, err error) {
	if err := checkCount(len(leases)); err != nil {
		return nil, err
	}
	leases = distinct(leases)
	lost, err = q.gameClaims(game).Complete(ctx, leases)
	if err == nil {
		q.metrics.completed.Add(float64(len(leases) - len(lost)))
	}
	q.metrics.countLost(lost)
	return lost, err
}

// Fail records failed attempts, and returns the lost leases. Leases of tasks that
// do not belong to the game count as lost. If Wait is 0, the task waits a random
// time: up to 1 s after the first attempt, doubled each time, up to 10 min.
func (q *TenantQueue) Fail(ctx context.Context, game string, failed []FailedAttempt) (lost []Lease, err error) {
	if err := checkCount(len(failed)); err != nil {
		return nil, err
	}
	failed = slices.Clone(failed)
	for i := range failed {
		if err := failed[i].check(); err != nil {
			return nil, fmt.Errorf("tasks[%d]: %w", i, err)
		}
		failed[i].Backoff = q.backoff
	}
	if lost, err = q.gameClaims(game).Fail(ctx, failed); err != nil {
		return nil, err
	}
	seen := lost
	for i := range failed { // of two reports of a lease the first counts
		if lease := failed[i].Lease; !slices.Contains(seen, lease) {
			seen = append(seen, lease)
			q.metrics.countFailure(&failed[i])
		}
	}
	q.metrics.countLost(lost)
	return lost, nil
}

// gameClaims changes only tasks of the game.
func (q *TenantQueue) gameClaims(game string) ClaimStore { return q.claims(storedTopic(game, "")) }

// distinct returns each lease once.
func distinct(leases []Lease) (all []Lease) {
	for _, lease := range leases {
		if !slices.Contains(all, lease) {
			all = append(all, lease)
		}
	}
	return all
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
