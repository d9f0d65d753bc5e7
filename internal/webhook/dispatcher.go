package webhook

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"laststand/internal/taskqueue"
)

// Config is what an office needs.
type Config struct {
	Registry *Registry
	States   States
	Counts   Counts
	Queue    taskqueue.Enqueuer
	Lists    TopLists
	Poster   Poster
	Logger   *slog.Logger // nil: slog.Default
}

// Office is where the tasks of the book are worked on a node, and where its
// operators ask. It is for concurrent use.
type Dispatcher struct {
	Config

	isStateKnown atomic.Bool   // the states were read once
	refreshLock  chan struct{} // held by a read of the states: no older one comes after it
}

const (
	refreshInterval = 10 * time.Second // at what other nodes say of endpoints
	callTimeout     = 10 * time.Second

	concurrentDeliveries = 128 // tries of a node, of which an endpoint gets atOnce
	concurrentSeals      = 2
)

// backoff is that of deliveries: see maxTries.
var backoff = taskqueue.Backoff{First: 5 * time.Second, Max: 6 * time.Hour}

// NewOffice makes an office.
func NewDispatcher(c Config) *Dispatcher {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return &Dispatcher{Config: c, refreshLock: make(chan struct{}, 1)}
}

// Services are how the tasks of the book are worked.
func (o *Dispatcher) Services() []taskqueue.Service {
	return []taskqueue.Service{
		{Kind: Kind, Handle: o.deliver, Concurrency: concurrentDeliveries, Backoff: backoff},
		{Kind: SealKind, Handle: o.seal, Concurrency: concurrentSeals},
	}
}

// Run hears what other nodes say of endpoints until the context ends.
func (o *Dispatcher) Run(ctx context.Context) error {
	ticker := time.NewTicker(refreshInterval)
	defer ticker.Stop()
	for failing := false; len(o.Registry.topics) > 0; {
		err := o.refreshStates(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			o.Logger.Warn("which endpoints of webhooks are disabled cannot be read; it is tried again", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
	<-ctx.Done()
	return nil
}

// learn reads the states of all endpoints. Who waits for another's read has no
// more time for both.
func (o *Dispatcher) refreshStates(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case o.refreshLock <- struct{}{}:
		defer func() { <-o.refreshLock }()
	case <-ctx.Done():
		return fmt.Errorf("states of endpoints: %w", ctx.Err())
	}
	rows, err := o.States.EndpointStates(ctx)
	if err != nil {
		return fmt.Errorf("states of endpoints: %w", err)
	}
	states := map[string]State{}
	for _, s := range rows {
		states[(&Endpoint{Game: s.Game, Name: s.Name}).Topic()] = s
	}
	for topic, r := range o.Registry.topics {
		s, ok := states[topic]
		if !ok {
			s = State{Game: r.Game, Name: r.Name}
		}
		r.setState(s)
		o.Registry.metrics.setDisabled(r, s.Disabled != "")
	}
	o.isStateKnown.Store(true)
	return nil
}
