package taskqueue

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
	"laststand/internal/timer"
)

// Notifier wakes the workers of a process when there may be a task for them.
// Its zero value is ready to use. It is safe for concurrent use.
type Notifier struct {
	mu            sync.Mutex
	subscriptions map[string]*subscription // by kind; that of "" is notified of every kind
}

// subscription is the channel that the subscribers of a kind share.
type subscription struct {
	notified    chan struct{}
	subscribers int
}

// Notify wakes a subscriber of a topic's kind, and one of every kind. It
// never blocks.
func (n *Notifier) Notify(topic string) { n.notifyKinds("", Kind(topic)) }

// notifyKinds notifies only of the given kinds. Without kinds it notifies of all.
func (n *Notifier) notifyKinds(kinds ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(kinds) == 0 {
		kinds = slices.Collect(maps.Keys(n.subscriptions))
	}
	for _, kind := range kinds {
		if s := n.subscriptions[kind]; s != nil {
			timer.Wake(s.notified)
		}
	}
}

// Subscribe returns a channel that gets a value after a notification for the
// kind. Notifications before the next read share one value. The subscribers of a
// kind share the channel, so a notification wakes one of them, which may wake the
// channel again. The kind "" means every kind.
func (n *Notifier) Subscribe(kind string) chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subscriptions == nil {
		n.subscriptions = map[string]*subscription{}
	}
	s := n.subscriptions[kind]
	if s == nil {
		s = &subscription{notified: make(chan struct{}, 1)}
		n.subscriptions[kind] = s
	}
	s.subscribers++
	return s.notified
}

// unsubscribe ends one subscription of a kind.
func (n *Notifier) unsubscribe(kind string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.subscriptions[kind]; s.subscribers > 1 {
		s.subscribers--
	} else {
		delete(n.subscriptions, kind)
	}
}

// CrossNodeConfig configures a CrossNodeNotifier.
type CrossNodeConfig struct {
	Notifier *Notifier // notifies the workers of this process
	// Publish sends kinds to all other nodes, which call Receive. The notifier
	// does not repeat a failed call. The regular polls of the other nodes then
	// find the tasks later. nil: there are no other nodes.
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

// The results of laststand_tasks_notifications_total.
const (
	notificationSent     = "sent"     // to the other nodes
	notificationReceived = "received" // from another node
	notificationLost     = "lost"     // messages of other nodes may be lost, so all workers polled
	notificationDropped  = "dropped"  // not sent, because more than maxPendingKinds were pending
	notificationFailed   = "failed"   // not sent, because the call failed
)

const (
	publishInterval = 50 * time.Millisecond // pause between two calls of Publish
	publishTimeout  = 2 * time.Second       // time limit of one call of Publish
	maxPendingKinds = 1000                  // per call of Publish; further kinds are dropped
)

// NewCrossNodeNotifier returns a CrossNodeNotifier. It publishes nothing before
// Run, but remembers kinds. The caller may set Publish until Run.
func NewCrossNodeNotifier(c CrossNodeConfig) *CrossNodeNotifier {
	return &CrossNodeNotifier{
		CrossNodeConfig: c, publishRequested: make(chan struct{}, 1), pending: map[string]bool{},
		notifications: metric.For(c.Registry, metricPrefix).CountersOf("notifications_total",
			"Kinds of ready tasks that nodes notify each other about, by result; the polls of the other nodes find those lost, dropped or failed.",
			"result", notificationSent, notificationReceived, notificationLost, notificationDropped, notificationFailed),
	}
}

// Notify notifies the workers of this process that the topic has a ready task.
// Run notifies those of other nodes within about publishInterval. Notify never
// blocks.
func (n *CrossNodeNotifier) Notify(topic string) {
	n.Notifier.Notify(topic)
	kind := Kind(topic)
	if kind == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.pending[kind] && len(n.pending) == maxPendingKinds {
		n.notifications.WithLabelValues(notificationDropped).Inc()
		return
	}
	n.pending[kind] = true
	timer.Wake(n.publishRequested)
}

// Receive notifies the workers of the kinds that another node has published. It
// does not notify the Maintainer, because the other node's Maintainer does that
// work. If kinds is empty, messages may have been lost, and Receive notifies
// every subscriber.
func (n *CrossNodeNotifier) Receive(kinds []string) {
	if len(kinds) == 0 {
		n.notifications.WithLabelValues(notificationLost).Inc()
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
			timer.Sleep(ctx, publishInterval)
		}
	}
	n.publishPending(ctx)
	return nil
}

// publishPending publishes the pending kinds, sorted, in one call. The end of ctx
// does not end the call.
func (n *CrossNodeNotifier) publishPending(ctx context.Context) {
	n.mu.Lock()
	kinds := slices.Sorted(maps.Keys(n.pending))
	clear(n.pending)
	n.mu.Unlock()
	if len(kinds) == 0 || n.Publish == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	result := notificationSent
	if err := n.Publish(ctx, kinds); err != nil {
		result = notificationFailed
	}
	n.notifications.WithLabelValues(result).Add(float64(len(kinds)))
}
