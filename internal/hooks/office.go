package hooks

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
	Book   *Book
	States States
	Counts Counts
	Queue  taskqueue.Enqueuer
	Lists  TopLists
	Poster Poster
	Logger *slog.Logger // nil: slog.Default
}

// Office is where the tasks of the book are worked on a node, and where its
// operators ask. It is for concurrent use.
type Office struct {
	Config

	known    atomic.Bool   // the states were read once
	learning chan struct{} // held by a read of the states: no older one comes after it
}

const (
	lookAgain   = 10 * time.Second // at what other nodes say of endpoints
	callTimeout = 10 * time.Second

	deliverAtOnce = 128 // tries of a node, of which an endpoint gets atOnce
	sealAtOnce    = 2
)

// backoff is that of deliveries: see maxTries.
var backoff = taskqueue.Backoff{First: 5 * time.Second, Max: 6 * time.Hour}

// NewOffice makes an office.
func NewOffice(c Config) *Office {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return &Office{Config: c, learning: make(chan struct{}, 1)}
}

// Services are how the tasks of the book are worked.
func (o *Office) Services() []taskqueue.Service {
	return []taskqueue.Service{
		{Kind: Kind, Handle: o.deliver, Concurrency: deliverAtOnce, Backoff: backoff},
		{Kind: SealKind, Handle: o.seal, Concurrency: sealAtOnce},
	}
}

// Run hears what other nodes say of endpoints until the context ends.
func (o *Office) Run(ctx context.Context) error {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for failing := false; len(o.Book.topics) > 0; {
		err := o.learn(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			o.Logger.Warn("which endpoints of webhooks are disabled cannot be read; it is tried again", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
	<-ctx.Done()
	return nil
}

// learn reads the states of all endpoints. Who waits for another's read has no
// more time for both.
func (o *Office) learn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case o.learning <- struct{}{}:
		defer func() { <-o.learning }()
	case <-ctx.Done():
		return fmt.Errorf("states of endpoints: %w", ctx.Err())
	}
	states, err := o.States.EndpointStates(ctx)
	if err != nil {
		return fmt.Errorf("states of endpoints: %w", err)
	}
	said := map[string]State{}
	for _, s := range states {
		said[(&Endpoint{Game: s.Game, Name: s.Name}).Topic()] = s
	}
	for topic, r := range o.Book.topics {
		s, ok := said[topic]
		if !ok {
			s = State{Game: r.Game, Name: r.Name}
		}
		r.know(s)
		o.Book.metrics.disable(r, s.Disabled != "")
	}
	o.known.Store(true)
	return nil
}
