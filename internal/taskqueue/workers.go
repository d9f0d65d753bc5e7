package taskqueue

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// Handler makes a try of a task. The task is done once it returns nil; else it is
// tried again, see Permanent and Postpone. It ends soon after its context
// does: then the lease is lost, or the process ends. A task may have been tried
// by another before, up to any point: what a handler does it does by the key.
type Handler func(ctx context.Context, t Task) error

// Service is how the tasks of a kind are worked.
type Service struct {
	Kind        string
	Handle      Handler
	Concurrency int           // tasks that a node works at a time; 0: 16
	Lease       time.Duration // renewed while a try goes on; so long is a dead node's task lost. 0: 30 s
	Backoff     Backoff       // zero: from 1 s to 10 min
}

// Config is what workers need.
type Config struct {
	Claims   Claims
	Notifier *Notifier
	Services []Service
	Poll     time.Duration         // they look all the same, as other nodes ring other bells; 0: a minute
	Grace    time.Duration         // for tries under way at the end; then they are given back. 0: 10 s
	Logger   *slog.Logger          // nil: slog.Default
	Registry prometheus.Registerer // nil: not measured
}

// Workers work off tasks on this node.
type Workers struct {
	Config

	metrics *workMetrics
	pools   []*pool
}

// NewWorkers makes the workers of some services, which hear the bell from now on.
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

// Run works tasks off until the context ends, and then until the tries under way
// have, or were given back.
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
