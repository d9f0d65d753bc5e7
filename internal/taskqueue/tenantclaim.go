package taskqueue

import (
	"context"
	"fmt"
	"time"
)

// Poll is a request of a game's worker for tasks of a kind.
type Poll struct {
	Kind  string        // kind of the game's topics, as the game names it
	Max   int           // tasks to return at most
	Lease time.Duration // how long the worker may work on a task before it renews the lease
	Wait  time.Duration // how long to wait for the first task; 0: not at all
}

func (p *Poll) check() error {
	switch {
	case isBadTopic(p.Kind) || Kind(p.Kind) != p.Kind:
		return fmt.Errorf("%w: kind %q: want a topic's part before its first /, 1 to %d printable bytes without spaces", ErrBadRequest, p.Kind, MaxTopic)
	case p.Wait < 0 || p.Wait > MaxWait:
		return fmt.Errorf("%w: a wait of %s: want up to %s", ErrBadRequest, p.Wait, MaxWait)
	}
	if err := checkCount(p.Max); err != nil {
		return err
	}
	return checkLease(p.Lease)
}

func checkLease(lease time.Duration) error {
	if lease < MinLease || lease > MaxLease {
		return fmt.Errorf("%w: a lease of %s: want %s to %s", ErrBadRequest, lease, MinLease, MaxLease)
	}
	return nil
}

// Claim claims tasks of a game; see ClaimStore.Claim. If there are none, it waits
// up to request.Wait, and then returns none. If the context ends during the call,
// Claim puts the tasks back into their queues. It returns ErrBadRequest for bad
// input. It returns ErrTooManyPolls if too many polls wait already.
func (f *TenantQueue) Claim(ctx context.Context, game string, p Poll) ([]Task, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.Wait == 0 {
		return f.claim(ctx, game, p)
	}
	waiting, limit := f.polls.add(game, storedTopic(game, p.Kind)) // before the first claim, so that no notification is missed
	if limit != "" {
		return f.claimWithoutWait(ctx, game, p, limit)
	}
	defer f.polls.remove(waiting)
	tasks, err := f.claim(ctx, game, p)
	over := time.NewTimer(p.Wait)
	defer over.Stop()
	for err == nil && len(tasks) == 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-f.closed:
			return nil, nil
		case <-over.C:
			return nil, nil
		case <-waiting.notified:
		}
		if tasks, err = f.claim(ctx, game, p); len(tasks) > 0 || err != nil {
			waiting.wakeNext()
		}
	}
	return tasks, err
}

// claimWithoutWait claims once and does not wait, because a limit of waiting
// polls is reached. reason is the limit.
func (f *TenantQueue) claimWithoutWait(ctx context.Context, game string, p Poll, reason string) ([]Task, error) {
	tasks, err := f.claim(ctx, game, p)
	if err != nil || len(tasks) > 0 {
		return tasks, err
	}
	f.metrics.refusedPolls.WithLabelValues(reason).Inc()
	return nil, ErrTooManyPolls
}

// claimOnce claims tasks without waiting.
func (f *TenantQueue) claim(ctx context.Context, game string, p Poll) ([]Task, error) {
	tasks, err := f.store.Claim(ctx, storedTopic(game, p.Kind), p.Max, p.Lease)
	if len(tasks) == 0 {
		return nil, err
	}
	f.metrics.claimed.Add(float64(len(tasks)))
	if ctx.Err() != nil {
		f.returnTasks(ctx, tasks)
		return nil, ctx.Err()
	}
	for i := range tasks {
		tasks[i].stripTopic(game)
	}
	return tasks, nil
}

// returnTasks puts tasks back into their queues, because their caller has left.
// If that fails, the tasks return when their leases end.
func (f *TenantQueue) returnTasks(ctx context.Context, tasks []Task) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	leases := make([]Lease, len(tasks))
	for i := range tasks {
		leases[i] = tasks[i].Lease()
	}
	lost, err := f.store.Return(ctx, leases)
	reason, n := reasonReturned, len(leases)-len(lost)
	if err != nil {
		reason, n = reasonStore, len(leases)
	}
	f.metrics.failures.WithLabelValues(reason).Add(float64(n))
}
