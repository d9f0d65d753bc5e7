package webhook

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

const (
	maxTaskCount = 100_000 // higher numbers of tasks are not counted
	maxReason    = 500     // maximum length of the reason why an endpoint is disabled, in bytes
)

// List returns the status of all endpoints, sorted by game.
func (d *Dispatcher) List(ctx context.Context) ([]Status, error) {
	if err := d.refreshStates(ctx); err != nil {
		return nil, err
	}
	list := []Status{}
	for _, endpoint := range d.Registry.endpoints() {
		status, err := d.status(ctx, endpoint)
		if err != nil {
			return nil, err
		}
		list = append(list, status)
	}
	return list, nil
}

// status returns the status of an endpoint, as this node knows it.
func (d *Dispatcher) status(ctx context.Context, endpoint *endpointState) (status Status, err error) {
	status = endpoint.status()
	if status.Waiting, status.Dead, err = d.TaskCounter.CountTasks(ctx, endpoint.Topic(), maxTaskCount); err != nil {
		return status, fmt.Errorf("deliveries of %s: %w", endpoint.Topic(), err)
	}
	return status, nil
}

// Ping sends a ping message to an endpoint immediately, without the queue, even if
// the endpoint is disabled. It returns the endpoint's reply, or ErrNoEndpoint.
func (d *Dispatcher) Ping(ctx context.Context, game, name string) (PingResult, error) {
	endpoint, err := d.Registry.find(game, name)
	if err != nil {
		return PingResult{}, err
	}
	startedAt := time.Now()
	ping := event{eventType: Ping, occurredAt: startedAt.UnixMilli(), data: func(int) any { return pingData{game, name} }}
	message := Message{ID: idPrefix + strings.ToLower(rand.Text()), Body: ping.body()}
	reply := d.postMessage(ctx, endpoint, message)
	result := PingResult{ID: message.ID, Status: reply.Status, TookMS: time.Since(startedAt).Milliseconds()}
	if reply.Err != nil {
		result.Error = reply.Err.Error()
	}
	return result, nil
}

type pingData struct {
	Game     string `json:"game"`
	Endpoint string `json:"endpoint"`
}

// Enable enables an endpoint: it gets the events from now on. Other nodes notice the
// change at their next refresh. Dead deliveries stay dead until an operator requeues
// them. Enable returns the new status, or ErrNoEndpoint.
func (d *Dispatcher) Enable(ctx context.Context, game, name string) (Status, error) {
	return d.change(ctx, game, name, func(*endpointState) error {
		if err := d.EndpointStates.EnableEndpoint(ctx, game, name); err != nil {
			return err
		}
		return d.refreshStates(ctx)
	})
}

// Disable disables an endpoint; operators can see the reason. Events are no longer
// enqueued for it, and each waiting delivery becomes dead at its next attempt. If the
// endpoint is already disabled, its reason does not change. Disable returns the new
// status, or ErrNoEndpoint.
func (d *Dispatcher) Disable(ctx context.Context, game, name, reason string) (Status, error) {
	return d.change(ctx, game, name, func(endpoint *endpointState) error { return d.disableEndpoint(ctx, endpoint, reason) })
}

// change changes an endpoint and returns its new status.
func (d *Dispatcher) change(ctx context.Context, game, name string, apply func(*endpointState) error) (Status, error) {
	endpoint, err := d.Registry.find(game, name)
	if err == nil {
		err = apply(endpoint)
	}
	if err != nil {
		return Status{}, err
	}
	return d.status(ctx, endpoint)
}

func (d *Dispatcher) disableEndpoint(ctx context.Context, endpoint *endpointState, reason string) error {
	if reason = strings.ToValidUTF8(reason[:min(len(reason), maxReason)], ""); reason == "" {
		reason = "an operator disabled it"
	}
	if err := d.EndpointStates.DisableEndpoint(ctx, endpoint.Game, endpoint.Name, reason); err != nil {
		return err
	}
	return d.refreshStates(ctx)
}
