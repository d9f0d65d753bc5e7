package taskqueue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/timer"
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
		return fmt.Errorf("%w: kind %q: want a topic's part before its first /, 1 to %d printable bytes without spaces", ErrBadRequest, p.Kind, MaxTopicBytes)
	case p.Wait < 0 || p.Wait > MaxPollWait:
		return fmt.Errorf("%w: a wait of %s: want up to %s", ErrBadRequest, p.Wait, MaxPollWait)
	}
	if err := checkCount(p.Max); err != nil {
		return err
	}
	return checkLease(p.Lease)
}

// Claim claims tasks of a game; see ClaimStore.Claim. If there are none, it waits
// up to request.Wait, and then returns none. If the context ends during the call,
// Claim puts the tasks back into their queues. It returns ErrBadRequest for bad
// input. It returns ErrTooManyPolls if there are none and too many polls wait already.
func (q *TenantQueue) Claim(ctx context.Context, game string, request Poll) ([]Task, error) {
	if err := request.check(); err != nil {
		return nil, err
	}
	if request.Wait == 0 {
		return q.claimOnce(ctx, game, request)
	}
	notified, unregister, limit := q.polls.register(game, storedTopic(game, request.Kind)) // before the first claim, so that no notification is missed
	if limit == "" {
		defer unregister()
	}
	tasks, err := q.claimOnce(ctx, game, request)
	if limit != "" && err == nil && len(tasks) == 0 {
		q.metrics.refusedPolls.WithLabelValues(limit).Inc()
		err = ErrTooManyPolls
	}
	waitTimer := time.NewTimer(request.Wait)
	defer waitTimer.Stop()
	for err == nil && len(tasks) == 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-q.closed:
			return nil, nil
		case <-waitTimer.C:
			return nil, nil
		case <-notified:
		}
		if tasks, err = q.claimOnce(ctx, game, request); len(tasks) > 0 || err != nil {
			timer.Wake(notified)
		}
	}
	return tasks, err
}

func (q *TenantQueue) claimOnce(ctx context.Context, game string, request Poll) ([]Task, error) {
	tasks, err := q.claims("").Claim(ctx, storedTopic(game, request.Kind), request.Max, request.Lease)
	if len(tasks) == 0 {
		return nil, err
	}
	q.metrics.claimed.Add(float64(len(tasks)))
	if ctx.Err() != nil {
		q.returnTasks(ctx, tasks)
		return nil, ctx.Err()
	}
	for i := range tasks {
		tasks[i].stripTopic(game)
	}
	return tasks, nil
}

// returnTasks puts tasks back into their queues, because their caller has left.
// If that fails, the tasks return when their leases end.
func (q *TenantQueue) returnTasks(ctx context.Context, tasks []Task) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	returned := make([]FailedAttempt, len(tasks))
	for i := range tasks {
		returned[i] = FailedAttempt{Lease: tasks[i].Lease(), Postponed: true}
	}
	lost, err := q.claims("").Fail(ctx, returned)
	reason, count := reasonReturned, len(tasks)-len(lost)
	if err != nil {
		reason, count = reasonStore, len(tasks)
	}
	q.metrics.failures.WithLabelValues(reason).Add(float64(count))
}

const (
	maxWaitingPolls   = 1000 // polls that wait at a node
	maxWaitingPerGame = 250  // polls of one game that wait at a node
)

// polls count the waiting polls of a node. A notification of a kind wakes only one of them.
// That poll claims. If it found tasks or could not claim, it wakes the next one. A lost
// notification delays a task until the next poll of its kind.
type polls struct {
	notifier *Notifier
	gauge    prometheus.Gauge

	mu      sync.Mutex
	waiting int            // waiting polls of all games
	perGame map[string]int // number of waiting polls by game
}

// register registers a poll of a stored kind that will wait for notified, until unregister.
// If a limit is reached, it registers nothing and returns the limit, which is "" otherwise.
func (p *polls) register(game, kind string) (notified chan struct{}, unregister func(), limit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.perGame[game] >= maxWaitingPerGame:
		return nil, nil, limitGame
	case p.waiting >= maxWaitingPolls:
		return nil, nil, limitNode
	}
	p.add(game, 1)
	return p.notifier.Subscribe(kind), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.add(game, -1); p.perGame[game] == 0 {
			delete(p.perGame, game)
		}
		p.notifier.unsubscribe(kind)
	}, ""
}

// add adds n to the numbers of waiting polls. The caller holds mu.
func (p *polls) add(game string, n int) {
	p.perGame[game] += n
	p.waiting += n
	p.gauge.Set(float64(p.waiting))
}
