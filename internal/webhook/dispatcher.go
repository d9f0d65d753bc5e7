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

// Dispatcher handles the tasks that the Registry makes, and the operators' requests
// for endpoints. It is safe for concurrent use.
type Dispatcher struct {
	Config

	isStateKnown atomic.Bool   // the states of endpoints were read at least once
	refreshLock  chan struct{} // has an element while the states are being read, so that no older read overwrites a newer one
}

const (
	refreshInterval = 10 * time.Second // between two reads of the states, which other nodes may change
	callTimeout     = 10 * time.Second // for reading the states

	concurrentDeliveries = 128 // concurrent attempts per node; an endpoint gets at most slotsPerEndpoint
	concurrentSeals      = 2   // concurrent tasks of SealedDayKind per node
)

// backoff is the retry delay of deliveries, see maxAttempts.
var backoff = taskqueue.Backoff{First: 5 * time.Second, Max: 6 * time.Hour}

// NewDispatcher returns a dispatcher.
func NewDispatcher(c Config) *Dispatcher {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return &Dispatcher{Config: c, refreshLock: make(chan struct{}, 1)}
}

// Services returns the services that handle the tasks of the Registry, for the task
// queue.
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
			o.Logger.Warn("reading the states of webhook endpoints failed; retrying", "error", err)
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

// refreshStates reads the states of all endpoints. callTimeout limits the wait for
// another reader and the read together.
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
