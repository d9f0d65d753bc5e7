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

// Notifier wakes workers when there may be a task for them: those of this process, and by Publish
// those of all other nodes. It is safe for concurrent use.
type Notifier struct {
	// Publish sends kinds to all other nodes, which call Receive. The notifier does not repeat a
	// failed call: the regular polls of the other nodes find the tasks later. The caller may set
	// it until Run. nil: there are no other nodes.
	Publish func(ctx context.Context, kinds []string) error

	notifications    *prometheus.CounterVec // by result
	publishRequested chan struct{}          // has a value if pending may not be empty

	mu            sync.Mutex
	subscriptions map[string]*subscription // by kind
	pending       map[string]bool          // kinds to publish
}

// subscription is the channel that the subscribers of a kind share.
type subscription struct {
	notified    chan struct{}
	subscribers int
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

// NewNotifier returns a Notifier with metrics in a registry, which may be nil.
func NewNotifier(registry prometheus.Registerer) *Notifier {
	return &Notifier{
		publishRequested: make(chan struct{}, 1), subscriptions: map[string]*subscription{}, pending: map[string]bool{},
		notifications: metric.For(registry, metricPrefix).CountersOf("notifications_total",
			"Kinds of ready tasks that nodes notify each other about, by result; the polls of the other nodes find those lost, dropped or failed.",
			"result", notificationSent, notificationReceived, notificationLost, notificationDropped, notificationFailed),
	}
}

// Notify wakes a subscriber of a topic's kind. Run notifies other nodes within about
// publishInterval. Notify never blocks.
func (n *Notifier) Notify(topic string) {
	kind := Kind(topic)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wake(kind)
	if !n.pending[kind] && len(n.pending) == maxPendingKinds {
		n.notifications.WithLabelValues(notificationDropped).Inc()
		return
	}
	n.pending[kind] = true
	timer.Wake(n.publishRequested)
}

// Receive wakes subscribers of the kinds that another node has published. If kinds is empty,
// messages may have been lost, and Receive wakes a subscriber of every kind.
func (n *Notifier) Receive(kinds []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notifications.WithLabelValues(notificationReceived).Add(float64(len(kinds)))
	if len(kinds) == 0 {
		n.notifications.WithLabelValues(notificationLost).Inc()
		kinds = slices.Collect(maps.Keys(n.subscriptions))
	}
	for _, kind := range kinds {
		n.wake(kind)
	}
}

// wake wakes a subscriber of a kind. The caller holds mu.
func (n *Notifier) wake(kind string) {
	if s := n.subscriptions[kind]; s != nil {
		timer.Wake(s.notified)
	}
}

// Subscribe returns a channel that gets a value after a notification for the
// kind. Notifications before the next read share one value. The subscribers of a
// kind share the channel, so a notification wakes one of them, which may wake the
// channel again.
func (n *Notifier) Subscribe(kind string) chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
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

// Run publishes pending kinds until the context ends. It then publishes the
// rest and returns nil. The caller must end the workers first, because they
// return unfinished tasks, which other nodes must learn.
func (n *Notifier) Run(ctx context.Context) error {
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
func (n *Notifier) publishPending(ctx context.Context) {
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
