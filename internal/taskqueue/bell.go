package taskqueue

import (
	"slices"
	"sync"
)

// Bell tells the workers of a process that there is something to do. Its zero
// value is ready, and it may be used concurrently.
type Bell struct {
	mu   sync.Mutex
	ears map[string][]chan struct{} // by kind; "" hears all
}

// Ring tells of a topic; of "" only who hears all. It never blocks.
func (b *Bell) Ring(topic string) { b.ring("", Kind(topic)) }

// ring tells those who listen for one of the kinds, and nobody else.
func (b *Bell) ring(kinds ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, kind := range kinds {
		wake(b.ears[kind])
	}
}

// ringAll tells everybody.
func (b *Bell) ringAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ears := range b.ears {
		wake(ears)
	}
}

func wake(ears []chan struct{}) {
	for _, ear := range ears {
		select {
		case ear <- struct{}{}:
		default: // it has not listened since it was rung for last
		}
	}
}

// Listen gives a channel that holds a value once a topic of the kind was rung
// for since it was read last; of any kind for "". It is for as long as the bell.
func (b *Bell) Listen(kind string) <-chan struct{} {
	ear := make(chan struct{}, 1)
	b.hear(kind, ear)
	return ear
}

// hear has an ear, which holds one value, be rung from now on.
func (b *Bell) hear(kind string, ear chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ears == nil {
		b.ears = map[string][]chan struct{}{}
	}
	b.ears[kind] = append(b.ears[kind], ear)
}

// forget has an ear be rung no more.
func (b *Bell) forget(kind string, ear chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ears[kind] = slices.DeleteFunc(b.ears[kind], func(e chan struct{}) bool { return e == ear })
	if len(b.ears[kind]) == 0 {
		delete(b.ears, kind)
	}
}
