package taskqueue

import (
	"slices"
	"sync"
)

// Notifier wakes the workers of a process when there may be a task for them.
// Its zero value is ready to use. It is safe for concurrent use.
type Notifier struct {
	mu          sync.Mutex
	subscribers map[string][]chan struct{} // by kind; those under "" are woken for every kind
}

// Notify wakes the subscribers of a topic's kind, and those of every kind. It
// never blocks.
func (b *Notifier) Notify(topic string) { b.notifyKinds("", Kind(topic)) }

// notifyKinds wakes only the subscribers of the given kinds.
func (b *Notifier) notifyKinds(kinds ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, kind := range kinds {
		signalAll(b.subscribers[kind])
	}
}

// notifyAll wakes every subscriber.
func (b *Notifier) notifyAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, subscribers := range b.subscribers {
		signalAll(subscribers)
	}
}

func signalAll(subscribers []chan struct{}) {
	for _, subscriber := range subscribers {
		select {
		case subscriber <- struct{}{}:
		default: // this subscriber has not read its last notification
		}
	}
}

// Subscribe returns a channel that gets a value after a notification for the
// kind. Notifications before the next read share one value. The kind "" means
// every kind. The subscription never ends.
func (b *Notifier) Subscribe(kind string) <-chan struct{} {
	subscriber := make(chan struct{}, 1)
	b.add(kind, subscriber)
	return subscriber
}

// add subscribes a channel, which must have a buffer for one value.
func (b *Notifier) add(kind string, subscriber chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscribers == nil {
		b.subscribers = map[string][]chan struct{}{}
	}
	b.subscribers[kind] = append(b.subscribers[kind], subscriber)
}

// remove ends the subscription of a channel.
func (b *Notifier) remove(kind string, subscriber chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subscribers[kind] = slices.DeleteFunc(b.subscribers[kind], func(e chan struct{}) bool { return e == subscriber })
	if len(b.subscribers[kind]) == 0 {
		delete(b.subscribers, kind)
	}
}
