package taskqueue

import (
	"slices"
	"sync"

	"laststand/internal/loop"
)

// Notifier wakes the workers of a process when there may be a task for them.
// Its zero value is ready to use. It is safe for concurrent use.
type Notifier struct {
	mu          sync.Mutex
	subscribers map[string][]chan struct{} // by kind; those under "" are woken for every kind
}

// Notify wakes the subscribers of a topic's kind, and those of every kind. It
// never blocks.
func (n *Notifier) Notify(topic string) { n.notifyKinds("", Kind(topic)) }

// notifyKinds wakes only the subscribers of the given kinds.
func (n *Notifier) notifyKinds(kinds ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, kind := range kinds {
		wakeAll(n.subscribers[kind])
	}
}

// notifyAll wakes every subscriber.
func (n *Notifier) notifyAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, subscribers := range n.subscribers {
		wakeAll(subscribers)
	}
}

func wakeAll(subscribers []chan struct{}) {
	for _, subscriber := range subscribers {
		loop.Wake(subscriber)
	}
}

// Subscribe returns a channel that gets a value after a notification for the
// kind. Notifications before the next read share one value. The kind "" means
// every kind. The subscription never ends.
func (n *Notifier) Subscribe(kind string) <-chan struct{} {
	subscriber := make(chan struct{}, 1)
	n.addSubscriber(kind, subscriber)
	return subscriber
}

// addSubscriber subscribes a channel, which must have a buffer for one value.
func (n *Notifier) addSubscriber(kind string, subscriber chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subscribers == nil {
		n.subscribers = map[string][]chan struct{}{}
	}
	n.subscribers[kind] = append(n.subscribers[kind], subscriber)
}

// removeSubscriber ends the subscription of a channel.
func (n *Notifier) removeSubscriber(kind string, subscriber chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subscribers[kind] = slices.DeleteFunc(n.subscribers[kind], func(c chan struct{}) bool { return c == subscriber })
	if len(n.subscribers[kind]) == 0 {
		delete(n.subscribers, kind)
	}
}
