package taskqueue

import (
	"slices"
	"sync"
)

// Notifier tells the workers of a process that there may be something to do.
// Its zero value is ready. It is safe for concurrent use.
type Notifier struct {
	mu          sync.Mutex
	subscribers map[string][]chan struct{} // by kind; those under "" receive every kind
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

// Subscribe returns a channel that holds a value when a topic of the kind was
// notified since the last read. The kind "" means every kind. The subscription
// never ends.
func (b *Notifier) Subscribe(kind string) <-chan struct{} {
	subscriber := make(chan struct{}, 1)
	b.add(kind, subscriber)
	return subscriber
}

// add starts to notify a channel, which must have room for one value.
func (b *Notifier) add(kind string, subscriber chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscribers == nil {
		b.subscribers = map[string][]chan struct{}{}
	}
	b.subscribers[kind] = append(b.subscribers[kind], subscriber)
}

// remove ends what add began.
func (b *Notifier) remove(kind string, subscriber chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subscribers[kind] = slices.DeleteFunc(b.subscribers[kind], func(e chan struct{}) bool { return e == subscriber })
	if len(b.subscribers[kind]) == 0 {
		delete(b.subscribers, kind)
	}
}
