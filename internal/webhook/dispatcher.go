package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"laststand/internal/taskqueue"
	"laststand/internal/timer"
)

// Config configures a Dispatcher.
type Config struct {
	Registry       *Registry
	EndpointStates EndpointStates
	TaskCounter    TaskCounter
	Queue          taskqueue.Enqueuer
	TopLists       TopLists
	Poster         Poster
	Logger         *slog.Logger
}

// Dispatcher handles the tasks that the Registry makes, and the operators' requests
// for endpoints. It is safe for concurrent use.
type Dispatcher struct {
	Config

	isStateKnown atomic.Bool         // the states of endpoints were read at least once
	refreshing   *semaphore.Weighted // held while the states are being read, so that no older read overwrites a newer one
}

// NewDispatcher returns a dispatcher.
func NewDispatcher(config Config) *Dispatcher {
	return &Dispatcher{Config: config, refreshing: semaphore.NewWeighted(1)}
}

const (
	callTimeout     = 10 * time.Second // for reading the states
	refreshInterval = 10 * time.Second // between two reads of the states, which other nodes may change

	concurrentDeliveries = 128 // concurrent attempts per node; an endpoint gets at most slotsPerEndpoint
	concurrentSeals      = 2   // concurrent tasks of SealedDayKind per node
)

// deliveryBackoff is the retry delay of deliveries, see maxAttempts.
var deliveryBackoff = taskqueue.Backoff{First: 5 * time.Second, Max: 6 * time.Hour}

// Services returns the services that handle the tasks of the Registry, for the task
// queue.
func (d *Dispatcher) Services() []taskqueue.KindConfig {
	return []taskqueue.KindConfig{
		{Kind: DeliveryKind, Handle: d.deliver, Concurrency: concurrentDeliveries, Backoff: deliveryBackoff},
		{Kind: SealedDayKind, Handle: d.enqueueSealedDay, Concurrency: concurrentSeals},
	}
}

// Run refreshes the states of endpoints, which other nodes may change, until the
// context ends.
func (d *Dispatcher) Run(ctx context.Context) error {
	refresh := timer.LogFailures(d.Logger, "read of the states of webhook endpoints", d.refreshStates)
	refresh(ctx)
	timer.Every(ctx, refreshInterval, refresh)
	return nil
}

// refreshStates reads the states of all endpoints. callTimeout limits the wait for
// another reader and the read together.
func (d *Dispatcher) refreshStates(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := d.refreshing.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("states of endpoints: %w", err)
	}
	defer d.refreshing.Release(1)
	rows, err := d.EndpointStates.EndpointStates(ctx)
	if err != nil {
		return fmt.Errorf("states of endpoints: %w", err)
	}
	states := map[string]State{}
	for _, state := range rows {
		states[(&Endpoint{Game: state.Game, Name: state.Name}).Topic()] = state
	}
	for topic, endpoint := range d.Registry.byTopic {
		state := states[topic]
		state.Game, state.Name = endpoint.Game, endpoint.Name
		endpoint.setState(state)
		d.Registry.metrics.setDisabled(endpoint, state.Disabled != "")
	}
	d.isStateKnown.Store(true)
	return nil
}

// postMessage makes one attempt to send a message, and records its result.
func (d *Dispatcher) postMessage(ctx context.Context, endpoint *endpointState, message Message) Reply {
	startedAt := time.Now()
	reply := d.Poster.Post(ctx, endpoint.Endpoint, message)
	d.Registry.metrics.observeSend(endpoint, reply.Status, time.Since(startedAt))
	if ctx.Err() == nil && endpoint.recordAttempt(reply.Err) {
		d.Logger.Warn("webhook endpoint started to fail; see `server webhooks list`", "game", endpoint.Game, "endpoint", endpoint.Name, "error", reply.Err)
	}
	return reply
}
