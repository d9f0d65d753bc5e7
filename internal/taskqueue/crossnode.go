package taskqueue

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/loop"
)

// CrossNodeConfig configures a CrossNodeNotifier.
type CrossNodeConfig struct {
	Notifier *Notifier // notifies the workers of this process
	// Publish sends kinds to all other nodes, which call Receive. The notifier
	// does not repeat a failed call. The regular polls of the other nodes then
	// find the tasks later.
	Publish  func(ctx context.Context, kinds []string) error
	Registry prometheus.Registerer // nil: not measured
}

// CrossNodeNotifier notifies the workers of this process and of all other
// nodes about ready tasks. It is safe for concurrent use.
type CrossNodeNotifier struct {
	CrossNodeConfig

	notifications    *prometheus.CounterVec // by result
	publishRequested chan struct{}          // has a value if pending may not be empty

	mu      sync.Mutex
	pending map[string]bool // kinds to publish
}

const (
	publishInterval = 50 * time.Millisecond // pause between two calls of Publish
	maxPendingKinds = 1000                  // per call of Publish; further kinds are dropped
)

// NewCrossNodeNotifier returns a CrossNodeNotifier. It publishes nothing before
// Run, but remembers kinds.
func NewCrossNodeNotifier(c CrossNodeConfig) *CrossNodeNotifier {
	return &CrossNodeNotifier{
		CrossNodeConfig: c, notifications: newNotificationCounter(c.Registry), publishRequested: make(chan struct{}, 1), pending: map[string]bool{},
	}
}

// Notify notifies the workers of this process that the topic has a ready task.
// Run notifies those of other nodes within about publishInterval. Notify never
// blocks.
func (n *CrossNodeNotifier) Notify(topic string) {
	n.Notifier.Notify(topic)
	if kind := Kind(topic); kind != "" {
		n.addPending(kind)
	}
}

func (n *CrossNodeNotifier) addPending(kind string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.pending[kind] && len(n.pending) == maxPendingKinds {
		n.notifications.WithLabelValues(notificationDropped).Inc()
		return
	}
	n.pending[kind] = true
	loop.Wake(n.publishRequested)
}

// Receive notifies the workers of the kinds that another node has published. It
// does not notify the Maintainer, because the other node's Maintainer does that
// work. If kinds is empty, messages may have been lost, and Receive notifies
// every subscriber.
func (n *CrossNodeNotifier) Receive(kinds []string) {
	if len(kinds) == 0 {
		n.notifications.WithLabelValues(notificationLost).Inc()
		n.Notifier.notifyAll()
		return
	}
	n.notifications.WithLabelValues(notificationReceived).Add(float64(len(kinds)))
	n.Notifier.notifyKinds(kinds...)
}

// Run publishes pending kinds until the context ends. It then publishes the
// rest and returns nil. The caller must end the workers first, because they
// return unfinished tasks, which other nodes must learn.
func (n *CrossNodeNotifier) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-n.publishRequested:
			n.publishPending(ctx)
			loop.Sleep(ctx, publishInterval)
		}
	}
	n.publishPending(ctx)
	return nil
}

// publishPending publishes the pending kinds in one call. The end of ctx does not end
// the call.
func (n *CrossNodeNotifier) publishPending(ctx context.Context) {
	kinds := n.takePendingKinds()
	if len(kinds) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	if err := n.Publish(ctx, kinds); err != nil {
		n.notifications.WithLabelValues(notificationFailed).Add(float64(len(kinds)))
		return
	}
	n.notifications.WithLabelValues(notificationSent).Add(float64(len(kinds)))
}

// publishTimeout is the time limit of one call of Publish.
const publishTimeout = 2 * time.Second

// takePendingKinds returns the pending kinds, sorted, and removes them.
func (n *CrossNodeNotifier) takePendingKinds() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	kinds := slices.Sorted(maps.Keys(n.pending))
	clear(n.pending)
	return kinds
}
