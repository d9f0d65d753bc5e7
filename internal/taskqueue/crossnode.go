package taskqueue

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// CrossNodeConfig configures a CrossNodeNotifier.
type CrossNodeConfig struct {
	Notifier *Notifier // of this process
	// Publish sends kinds to all other nodes, which call Receive. The notifier
	// does not repeat a failed call: the slow polls of the other nodes find the
	// tasks.
	Publish  func(ctx context.Context, kinds []string) error
	Registry prometheus.Registerer // nil: not measured
}

// CrossNodeNotifier passes the notifications of this process to the other
// nodes. It is safe for concurrent use.
type CrossNodeNotifier struct {
	CrossNodeConfig

	notifications *prometheus.CounterVec // by result
	notified      chan struct{}

	mu      sync.Mutex
	pending map[string]bool // kinds to publish
}

const (
	publishInterval = 50 * time.Millisecond // kinds of this time are published together
	maxPendingKinds = 1000                  // kinds at a time
)

// NewCrossNodeNotifier returns a CrossNodeNotifier. It collects kinds before
// Run.
func NewCrossNodeNotifier(c CrossNodeConfig) *CrossNodeNotifier {
	return &CrossNodeNotifier{
		CrossNodeConfig: c, notifications: newNotifications(c.Registry), notified: make(chan struct{}, 1), pending: map[string]bool{},
	}
}

// Notify notifies the workers here, and those of other nodes soon. It never
// blocks.
func (r *CrossNodeNotifier) Notify(topic string) {
	r.Notifier.Notify(topic)
	if kind := Kind(topic); kind != "" {
		r.add(kind)
	}
}

func (r *CrossNodeNotifier) add(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.pending[kind] && len(r.pending) == maxPendingKinds {
		r.notifications.WithLabelValues(notificationDropped).Inc()
		return
	}
	r.pending[kind] = true
	select {
	case r.notified <- struct{}{}:
	default:
	}
}

// Receive notifies the workers of kinds that another node published. It does
// not notify the Maintainer, because the other node does that work. No kinds
// mean that messages may be lost: then every subscriber is notified.
func (r *CrossNodeNotifier) Receive(kinds []string) {
	if len(kinds) == 0 {
		r.notifications.WithLabelValues(notificationLost).Inc()
		r.Notifier.notifyAll()
		return
	}
	r.notifications.WithLabelValues(notificationReceived).Add(float64(len(kinds)))
	r.Notifier.notifyKinds(kinds...)
}

// Run publishes until the context ends, and then what is left. It must end
// after the workers, because they return unfinished tasks.
func (r *CrossNodeNotifier) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-r.notified:
			r.publish(ctx)
			sleep(ctx, publishInterval, nil)
		}
	}
	r.publish(ctx)
	return nil
}

// publish publishes the pending kinds in one call. The end of Run does not cut
// the call off.
func (r *CrossNodeNotifier) publish(ctx context.Context) {
	kinds := r.takePending()
	if len(kinds) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	if err := r.Publish(ctx, kinds); err != nil {
		r.notifications.WithLabelValues(notificationFailed).Add(float64(len(kinds)))
		return
	}
	r.notifications.WithLabelValues(notificationSent).Add(float64(len(kinds)))
}

// publishTimeout bounds a call of Publish.
const publishTimeout = 2 * time.Second

func (r *CrossNodeNotifier) takePending() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	kinds := slices.Sorted(maps.Keys(r.pending))
	clear(r.pending)
	return kinds
}
