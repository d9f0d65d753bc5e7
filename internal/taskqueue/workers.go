package taskqueue

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"laststand/internal/timer"
)

// Handler makes one attempt. If it returns nil, the task is done. After an error
// the queue retries the task; see Permanent and Postpone. The handler must
// return soon after its context ends, because then the lease is lost or the
// process stops. An earlier attempt may have done part of the work, so the
// handler must use the task's key to stay idempotent.
type Handler func(ctx context.Context, t Task) error

// KindConfig says how to run the tasks of a kind.
type KindConfig struct {
	Kind        string
	Handle      Handler
	Concurrency int           // attempts that run on a node at the same time; 0: 16
	Lease       time.Duration // renewed during an attempt; after a crash of the node its tasks wait up to this long; 0: 30 s
	Backoff     Backoff       // zero: from 1 s to 10 min
}

// Config configures Workers.
type Config struct {
	Store        ClaimStore
	Notifier     *Notifier
	Kinds        []KindConfig
	PollInterval time.Duration         // workers also claim this often without a notification; 0: 1 min
	GracePeriod  time.Duration         // how long Run waits for attempts under way before it cancels them and returns their tasks; 0: 10 s
	Logger       *slog.Logger          // nil: slog.Default
	Registry     prometheus.Registerer // nil: not measured
}

// Workers run the tasks of some kinds on this node.
type Workers struct {
	Config

	metrics *workMetrics
	pools   []*pool
}

// NewWorkers returns the workers for c.Kinds. They receive notifications from now
// on, but run tasks only in Run.
func NewWorkers(c Config) *Workers {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.PollInterval, c.GracePeriod = cmp.Or(c.PollInterval, time.Minute), cmp.Or(c.GracePeriod, 10*time.Second)
	w := &Workers{Config: c, metrics: newWorkMetrics(c.Registry, c.Kinds)}
	for _, kindConfig := range c.Kinds {
		kindConfig.Concurrency, kindConfig.Lease = cmp.Or(kindConfig.Concurrency, 16), cmp.Or(kindConfig.Lease, 30*time.Second)
		kindConfig.Backoff = cmp.Or(kindConfig.Backoff, Backoff{First: time.Second, Max: 10 * time.Minute})
		w.pools = append(w.pools, newPool(w, kindConfig))
	}
	return w
}

// Run runs tasks until the context ends. It then waits until the attempts under
// way have ended or their tasks were returned, and returns nil.
func (w *Workers) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, p := range w.pools {
		running.Go(func() { p.run(ctx) })
	}
	running.Wait()
	return nil
}

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

// withJitter returns a random time between 3/4 and 5/4 of d, so that nodes do not
// all work at the same moment.
func withJitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1) //nolint:gosec // a wait is no secret
}
