package taskqueue

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
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
	var running errgroup.Group
	for _, p := range w.pools {
		running.Go(func() error {
			p.run(ctx)
			return nil
		})
	}
	return running.Wait()
}
