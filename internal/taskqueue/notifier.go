package taskqueue

import (
	"slices"
	"sync"
)

// Bell tells the workers of a process that there is something to do. Its zero
// value is ready, and it may be used concurrently.
type Notifier struct {
	mu          sync.Mutex
	subscribers map[string][]chan struct{} // by kind; "" hears all
}

// Ring tells of a topic; of "" only who hears all. It never blocks.
func (b *Notifier) Notify(topic string) { b.notifyKinds("", Kind(topic)) }

// ring tells those who listen for one of the kinds, and nobody else.
func (b *Notifier) notifyKinds(kinds ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, kind := range kinds {
		signalAll(b.subscribers[kind])
	}
}

// ringAll tells everybody.
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
		default: // it has not listened since it was rung for last
		}
	}
}

// Listen gives a channel that holds a value once a topic of the kind was rung
// for since it was read last; of any kind for "". It is for as long as the bell.
func (b *Notifier) Subscribe(kind string) <-chan struct{} {
	subscriber := make(chan struct{}, 1)
	b.add(kind, subscriber)
	return subscriber
}

// hear has an ear, which holds one value, be rung from now on.
func (b *Notifier) add(kind string, subscriber chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscribers == nil {
		b.subscribers = map[string][]chan struct{}{}
	}
	b.subscribers[kind] = append(b.subscribers[kind], subscriber)
}

// forget has an ear be rung no more.
func (b *Notifier) remove(kind string, subscriber chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subscribers[kind] = slices.DeleteFunc(b.subscribers[kind], func(e chan struct{}) bool { return e == subscriber })
	if len(b.subscribers[kind]) == 0 {
		delete(b.subscribers, kind)
	}
}
