package taskqueue

import (
	"context"
	"fmt"
	"time"
)

// Poll asks for tasks of a kind.
type Poll struct {
	Kind  string // of the game's topics
	Max   int
	Lease time.Duration
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

// Claim returns tasks of a game like Claims.Claim, or none after the wait. If the
// context ends during the call, it returns the tasks to the queue. It returns
// ErrBadRequest for bad input and ErrTooManyPolls at a limit.
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

// claimWithoutWait claims once, because a limit allows no waiting.
func (f *TenantQueue) claimWithoutWait(ctx context.Context, game string, p Poll, reason string) ([]Task, error) {
	tasks, err := f.claim(ctx, game, p)
	if err != nil || len(tasks) > 0 {
		return tasks, err
	}
	f.metrics.refusedPolls.WithLabelValues(reason).Inc()
	return nil, ErrTooManyPolls
}

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

// returnTasks returns tasks whose caller has left. If that fails, the leases
// run out.
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
