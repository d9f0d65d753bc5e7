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

// Config configures a Dispatcher.
type Config struct {
	Registry *Registry
	States   States
	Counts   Counts
	Queue    taskqueue.Enqueuer
	Lists    TopLists
	Poster   Poster
	Logger   *slog.Logger // nil: slog.Default
}

// Dispatcher works the tasks of the Registry on a node, and serves its operators.
// It is safe for concurrent use.
type Dispatcher struct {
	Config

	isStateKnown atomic.Bool   // the states were read at least once
	refreshLock  chan struct{} // held by a read of the states, so that no older read overwrites a newer one
}

const (
	refreshInterval = 10 * time.Second // between reads of the states, which other nodes may change
	callTimeout     = 10 * time.Second

	concurrentDeliveries = 128 // attempts of a node; an endpoint gets at most concurrencyPerEndpoint
	concurrentSeals      = 2
)

// backoff is the retry delay of deliveries, see maxAttempts.
var backoff = taskqueue.Backoff{First: 5 * time.Second, Max: 6 * time.Hour}

// NewDispatcher returns a dispatcher.
func NewDispatcher(c Config) *Dispatcher {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return &Dispatcher{Config: c, refreshLock: make(chan struct{}, 1)}
}

// Services returns the services that work the tasks of the Registry.
func (o *Dispatcher) Services() []taskqueue.Service {
	return []taskqueue.Service{
		{Kind: Kind, Handle: o.deliver, Concurrency: concurrentDeliveries, Backoff: backoff},
		{Kind: SealKind, Handle: o.seal, Concurrency: concurrentSeals},
	}
}

// Run refreshes the states of endpoints, which other nodes may change, until the
// context ends.
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

// refreshStates reads the states of all endpoints. One timeout bounds both the
// wait for another reader and the read itself.
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
