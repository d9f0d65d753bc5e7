package taskqueue

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"laststand/internal/timer"
)

// pool runs the tasks of one kind on a node. One loop claims tasks, and another renews
// their leases. Each claimed task has a goroutine; see runAttempt.
type pool struct {
	KindConfig

	workers  *Workers
	notified <-chan struct{}         // has a value after a notification for the kind
	freed    chan struct{}           // has a value after attempts have ended
	reports  timer.Batcher[*attempt] // reports to the store how attempts ended

	mu      sync.Mutex
	running map[Lease]*attempt // claimed tasks, until the store knows how their attempts ended
	deadLog rate.Sometimes     // limits the log of dead tasks
}

// storeRetryDelay is the pause before the next call after the store failed.
const storeRetryDelay = time.Second

func newPool(w *Workers, kindConfig KindConfig) *pool {
	p := &pool{
		KindConfig: kindConfig, workers: w, notified: w.Notifier.Subscribe(kindConfig.Kind), freed: make(chan struct{}, 1),
		running: map[Lease]*attempt{}, deadLog: rate.Sometimes{Interval: time.Minute},
	}
	p.reports = timer.Batcher[*attempt]{Run: p.report, MaxBatch: MaxBatch, Workers: 1, Timeout: callTimeout}
	return p
}

// run claims tasks and runs them until the context ends. It then waits for the
// attempts under way. It cancels those that take longer than GracePeriod, and
// returns their tasks to the queue.
func (p *pool) run(ctx context.Context) {
	attemptsCtx, cancelAttempts := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelAttempts()
	var attempts, renewals sync.WaitGroup
	renewals.Go(func() { timer.Every(attemptsCtx, p.Lease/3, p.renewLeases) })
	p.claimTasks(ctx, func(task Task) {
		a := &attempt{task: task}
		a.ctx, a.cancel = context.WithCancel(attemptsCtx)
		p.mu.Lock()
		p.running[task.Lease()] = a
		p.mu.Unlock()
		attempts.Go(func() { p.runAttempt(attemptsCtx, a) })
	})
	grace := time.AfterFunc(p.workers.GracePeriod, cancelAttempts)
	defer grace.Stop()
	attempts.Wait()
	cancelAttempts()
	renewals.Wait()
}

// claimTasks claims tasks and starts them, until the context ends. It claims after a
// notification, at intervals, and again after a claim that found tasks.
func (p *pool) claimTasks(ctx context.Context, start func(Task)) {
	pollTimer := time.NewTimer(withJitter(p.workers.PollInterval))
	defer pollTimer.Stop()
	for mayHaveTasks := true; ctx.Err() == nil; {
		if free := p.freeSlots(); mayHaveTasks && free > 0 {
			tasks, err := p.claim(ctx, min(free, MaxBatch))
			if err != nil {
				pollTimer.Reset(storeRetryDelay)
			}
			for _, task := range tasks {
				start(task)
			}
			mayHaveTasks = len(tasks) > 0 // there may be more, for example some that another node had locked
			continue
		}
		select {
		case <-ctx.Done():
		case <-p.freed:
		case <-p.notified:
			mayHaveTasks = true
		case <-pollTimer.C:
			mayHaveTasks = true
			pollTimer.Reset(withJitter(p.workers.PollInterval))
		}
	}
}

func (p *pool) freeSlots() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Concurrency - len(p.running)
}

// claim claims tasks. The end of the context does not end the call.
func (p *pool) claim(ctx context.Context, n int) ([]Task, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	tasks, err := p.workers.Store.Claim(ctx, p.Kind, n, p.Lease)
	if err != nil {
		p.recordStoreFailure("claim", err)
	}
	p.workers.metrics.claimed.WithLabelValues(p.Kind).Add(float64(len(tasks)))
	return tasks, err
}

func (p *pool) recordStoreFailure(operation string, err error) {
	p.workers.metrics.failures.WithLabelValues(p.Kind, reasonStore).Inc()
	p.workers.Logger.Warn("task queue store call failed; the server retries it", "kind", p.Kind, "call", operation, "error", err)
}

// renewLeases renews the leases of all running attempts. It cancels the attempts
// whose lease is lost.
func (p *pool) renewLeases(ctx context.Context) {
	p.mu.Lock()
	leases := slices.Collect(maps.Keys(p.running))
	p.mu.Unlock()
	if len(leases) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	lost, err := p.workers.Store.Renew(ctx, leases, p.Lease)
	if err != nil {
		p.recordStoreFailure("renew", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, lease := range lost {
		if a := p.running[lease]; a != nil {
			a.cancel() // the store then refuses its result
		}
	}
}
