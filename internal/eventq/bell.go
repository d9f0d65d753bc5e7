package eventq

import "sync"

// Bell tells the workers of a process that there is something to do. Its zero
// value is ready, and it may be used concurrently.
type Bell struct {
	mu   sync.Mutex
	ears map[string][]chan struct{} // by kind; "" hears all
}

// Ring tells of a topic; of "" only who hears all. It never blocks.
func (b *Bell) Ring(topic string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	heard := b.ears[""]
	if kind := Kind(topic); kind != "" {
		heard = append(heard[:len(heard):len(heard)], b.ears[kind]...)
	}
	for _, ear := range heard {
		select {
		case ear <- struct{}{}:
		default: // it has not listened since it was rung for last
		}
	}
}

// Listen gives a channel that holds a value once a topic of the kind was rung
// for since it was read last; of any kind for "". It is for as long as the bell.
func (b *Bell) Listen(kind string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ears == nil {
		b.ears = map[string][]chan struct{}{}
	}
	ear := make(chan struct{}, 1)
	b.ears[kind] = append(b.ears[kind], ear)
	return ear
}
