package taskqueue

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// RelayConfig is what a relay needs.
type CrossNodeConfig struct {
	Notifier *Notifier // of this process
	// Tell tells all other nodes of kinds, whose relays then hear of them. What it
	// could not tell is not told again: their slow polls find it.
	Publish  func(ctx context.Context, kinds []string) error
	Registry prometheus.Registerer // nil: not measured
}

// Relay rings the bells of other nodes with that of its own: a line that wakes
// here wakes the workers of its kind there. It may be used concurrently.
type CrossNodeNotifier struct {
	CrossNodeConfig

	notifications *prometheus.CounterVec // by result
	notified      chan struct{}

	mu      sync.Mutex
	pending map[string]bool // kinds
}

const (
	publishInterval = 50 * time.Millisecond // what wakes meanwhile is told together
	maxPendingKinds = 1000                  // kinds at a time
)

// NewRelay makes a relay. What wakes before Run waits for it.
func NewCrossNodeNotifier(c CrossNodeConfig) *CrossNodeNotifier {
	return &CrossNodeNotifier{
		CrossNodeConfig: c, notifications: newNotifications(c.Registry), notified: make(chan struct{}, 1), pending: map[string]bool{},
	}
}

// Ring rings for a topic here, as Bell.Ring does, and has other nodes told soon.
// It never blocks.
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

// Heard rings for kinds that another node tells of: for their workers alone, as
// that node does what else there is to do. None: words of others may have been
// lost, and everybody looks.
func (r *CrossNodeNotifier) Receive(kinds []string) {
	if len(kinds) == 0 {
		r.notifications.WithLabelValues(notificationLost).Inc()
		r.Notifier.notifyAll()
		return
	}
	r.notifications.WithLabelValues(notificationReceived).Add(float64(len(kinds)))
	r.Notifier.notifyKinds(kinds...)
}

// Run tells other nodes until the context ends, and then what is left: so it
// ends after the workers, who give back what they have not done.
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

// tell tells what is untold, in one call that the end of the relay does not cut
// off.
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

// tellWithin bounds a call of Tell.
const publishTimeout = 2 * time.Second

func (r *CrossNodeNotifier) takePending() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	kinds := slices.Sorted(maps.Keys(r.pending))
	clear(r.pending)
	return kinds
}
