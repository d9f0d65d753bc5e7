package webhook

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

const (
	countUpTo = 100_000
	maxReason = 500 // bytes of why an endpoint is disabled
)

// List says how all endpoints are, by game.
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

// status is how an endpoint is, by what this node knows of its state.
func (o *Dispatcher) status(ctx context.Context, r *endpointState) (s Status, err error) {
	s = r.status()
	s.URL = o.Poster.Host(r.Endpoint)
	if s.Waiting, s.Dead, err = o.Counts.CountTasks(ctx, r.Topic(), countUpTo); err != nil {
		return s, fmt.Errorf("deliveries of %s: %w", r.Topic(), err)
	}
	return s, nil
}

// Ping sends a message of its own to an endpoint at once, past the queue, also to
// one that is disabled, and says how it was answered. ErrNoEndpoint.
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

// Enable has an endpoint get what happens from now on, at other nodes from when
// they look again; what is dead is requeued by hand. It gives the endpoint as it
// is then. ErrNoEndpoint.
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

// Disable has an endpoint get nothing, for a reason that operators see: what
// happens meanwhile is not enqueued, and what waits dies when its turn comes.
// One that is disabled already keeps its reason. It gives the endpoint as it is
// then. ErrNoEndpoint.
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
