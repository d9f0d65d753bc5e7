package webhook

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

const (
	countUpTo = 100_000 // higher numbers of tasks are not counted
	maxReason = 500     // maximum length of the reason why an endpoint is disabled, in bytes
)

// List returns the status of all endpoints, sorted by game.
func (o *Dispatcher) List(ctx context.Context) ([]Status, error) {
	if err := o.refreshStates(ctx); err != nil {
		return nil, err
	}
	list := []Status{}
	for _, r := range o.Registry.endpoints() {
		s, err := o.status(ctx, r)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// status returns the status of an endpoint, as this node knows it.
func (o *Dispatcher) status(ctx context.Context, r *endpointState) (s Status, err error) {
	s = r.status()
	s.URL = o.Poster.Host(r.Endpoint)
	if s.Waiting, s.Dead, err = o.Counts.CountTasks(ctx, r.Topic(), countUpTo); err != nil {
		return s, fmt.Errorf("deliveries of %s: %w", r.Topic(), err)
	}
	return s, nil
}

// Ping sends a ping message to an endpoint immediately, without the queue, even if
// the endpoint is disabled. It returns the endpoint's reply, or ErrNoEndpoint.
func (o *Dispatcher) Ping(ctx context.Context, game, name string) (PingResult, error) {
	r, err := o.Registry.find(game, name)
	if err != nil {
		return PingResult{}, err
	}
	start := time.Now()
	e := event{kind: Ping, occurredAt: start.UnixMilli(), data: func(int) any { return pingData{game, name} }}
	m := Message{ID: idPrefix + strings.ToLower(rand.Text()), Body: e.body()}
	reply := o.send(ctx, r, m)
	p := PingResult{ID: m.ID, Status: reply.Status, TookMS: time.Since(start).Milliseconds()}
	if reply.Err != nil {
		p.Error = reply.Err.Error()
	}
	return p, nil
}

// pingData is the data of webhook.ping.
type pingData struct {
	Game     string `json:"game"`
	Endpoint string `json:"endpoint"`
}

// Enable enables an endpoint: it gets the events from now on. Other nodes notice the
// change at their next refresh. Dead deliveries stay dead until an operator requeues
// them. Enable returns the new status, or ErrNoEndpoint.
func (o *Dispatcher) Enable(ctx context.Context, game, name string) (Status, error) {
	r, err := o.Registry.find(game, name)
	if err == nil {
		err = o.States.EnableEndpoint(ctx, game, name)
	}
	if err == nil {
		err = o.refreshStates(ctx)
	}
	if err != nil {
		return Status{}, err
	}
	return o.status(ctx, r)
}

// Disable disables an endpoint; operators can see the reason. Events are no longer
// enqueued for it, and each waiting delivery becomes dead at its next attempt. If the
// endpoint is already disabled, its reason does not change. Disable returns the new
// status, or ErrNoEndpoint.
func (o *Dispatcher) Disable(ctx context.Context, game, name, reason string) (Status, error) {
	r, err := o.Registry.find(game, name)
	if err == nil {
		err = o.disable(ctx, r, reason)
	}
	if err != nil {
		return Status{}, err
	}
	return o.status(ctx, r)
}

func (o *Dispatcher) disable(ctx context.Context, r *endpointState, reason string) error {
	if reason = strings.ToValidUTF8(reason[:min(len(reason), maxReason)], ""); reason == "" {
		reason = "an operator disabled it"
	}
	if err := o.States.DisableEndpoint(ctx, r.Game, r.Name, reason); err != nil {
		return err
	}
	return o.refreshStates(ctx)
}
