package taskqueue

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// Handler makes an attempt. The task is done when it returns nil. After an
// error the task is tried again; see Permanent and Postpone. The handler must
// end soon after its context ends: the lease is lost or the process stops. An
// earlier attempt may have done part of the work, so the handler must use the
// key to stay idempotent.
type Handler func(ctx context.Context, t Task) error

// Service says how to run the tasks of a kind.
type Service struct {
	Kind        string
	Handle      Handler
	Concurrency int           // attempts of a node at a time; 0: 16
	Lease       time.Duration // renewed during an attempt; tasks of a dead node wait this long. 0: 30 s
	Backoff     Backoff       // zero: from 1 s to 10 min
}

// Config configures Workers.
type Config struct {
	Claims   Claims
	Notifier *Notifier
	Services []Service
	Poll     time.Duration         // they also look this often, because other nodes have other notifiers; 0: 1 min
	Grace    time.Duration         // for attempts under way at the end; then their tasks are returned. 0: 10 s
	Logger   *slog.Logger          // nil: slog.Default
	Registry prometheus.Registerer // nil: not measured
}

// Workers run tasks on this node.
type Workers struct {
	Config

	metrics *workMetrics
	pools   []*pool
}

// NewWorkers returns the workers of some services. They receive notifications
// from now on.
func NewWorkers(c Config) *Workers {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Poll, c.Grace = cmp.Or(c.Poll, time.Minute), cmp.Or(c.Grace, 10*time.Second)
	w := &Workers{Config: c}
	var kinds []string
	for _, s := range c.Services {
		s.Concurrency, s.Lease = cmp.Or(s.Concurrency, 16), cmp.Or(s.Lease, 30*time.Second)
		s.Backoff = cmp.Or(s.Backoff, Backoff{First: time.Second, Max: 10 * time.Minute})
		kinds = append(kinds, s.Kind)
		w.pools = append(w.pools, newPool(w, s))
	}
	w.metrics = newWorkMetrics(c.Registry, kinds)
	return w
}

// Run runs tasks until the context ends, and then until the attempts under way
// have ended or were returned.
func (w *Workers) Run(ctx context.Context) error {
	var all errgroup.Group
	for _, c := range w.pools {
		all.Go(func() error {
			c.run(ctx)
			return nil
		})
	}
	return all.Wait()
}
