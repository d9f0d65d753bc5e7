package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"laststand/internal/taskqueue"
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

	isStateKnown atomic.Bool   // the states of endpoints were read at least once
	refreshLock  chan struct{} // has an element while the states are being read, so that no older read overwrites a newer one
}

const (
	callTimeout = 10 * time.Second // for reading the states
)

// NewDispatcher returns a dispatcher.
func NewDispatcher(config Config) *Dispatcher {
	return &Dispatcher{Config: config, refreshLock: make(chan struct{}, 1)}
}

// refreshStates reads the states of all endpoints. callTimeout limits the wait for
// another reader and the read together.
func (d *Dispatcher) refreshStates(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case d.refreshLock <- struct{}{}:
		defer func() { <-d.refreshLock }()
	case <-ctx.Done():
		return fmt.Errorf("states of endpoints: %w", ctx.Err())
	}
	rows, err := d.EndpointStates.EndpointStates(ctx)
	if err != nil {
		return fmt.Errorf("states of endpoints: %w", err)
	}
	states := map[string]State{}
	for _, state := range rows {
		states[(&Endpoint{Game: state.Game, Name: state.Name}).Topic()] = state
	}
	for topic, endpoint := range d.Registry.byTopic {
		state, ok := states[topic]
		if !ok {
			state = State{Game: endpoint.Game, Name: endpoint.Name}
		}
		endpoint.setState(state)
		d.Registry.metrics.setDisabled(endpoint, state.Disabled != "")
	}
	d.isStateKnown.Store(true)
	return nil
}

func (d *Dispatcher) postMessage(ctx context.Context, endpoint *endpointState, message Message) Reply {
	startedAt := time.Now()
	reply := d.Poster.Post(ctx, endpoint.Endpoint, message)
	d.Registry.metrics.observeSend(endpoint, reply.Status, time.Since(startedAt))
	if ctx.Err() == nil && endpoint.recordAttempt(reply.Err) {
		d.Logger.Warn("webhook endpoint started to fail; see `server webhooks list`", "game", endpoint.Game, "endpoint", endpoint.Name, "error", reply.Err)
	}
	return reply
}
