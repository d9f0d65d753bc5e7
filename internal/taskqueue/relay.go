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
type RelayConfig struct {
	Bell *Bell // of this process
	// Tell tells all other nodes of kinds, whose relays then hear of them. What it
	// could not tell is not told again: their slow polls find it.
	Tell     func(ctx context.Context, kinds []string) error
	Registry prometheus.Registerer // nil: not measured
}

// Relay rings the bells of other nodes with that of its own: a line that wakes
// here wakes the workers of its kind there. It may be used concurrently.
type Relay struct {
	RelayConfig

	notifications *prometheus.CounterVec // by result
	rung          chan struct{}

	mu     sync.Mutex
	untold map[string]bool // kinds
}

const (
	tellEvery = 50 * time.Millisecond // what wakes meanwhile is told together
	mostTold  = 1000                  // kinds at a time
)

// NewRelay makes a relay. What wakes before Run waits for it.
func NewRelay(c RelayConfig) *Relay {
	return &Relay{
		RelayConfig: c, notifications: newNotifications(c.Registry), rung: make(chan struct{}, 1), untold: map[string]bool{},
	}
}

// Ring rings for a topic here, as Bell.Ring does, and has other nodes told soon.
// It never blocks.
func (r *Relay) Ring(topic string) {
	r.Bell.Ring(topic)
	if kind := Kind(topic); kind != "" {
		r.note(kind)
	}
}

func (r *Relay) note(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.untold[kind] && len(r.untold) == mostTold {
		r.notifications.WithLabelValues(notificationDropped).Inc()
		return
	}
	r.untold[kind] = true
	select {
	case r.rung <- struct{}{}:
	default:
	}
}

// Heard rings for kinds that another node tells of: for their workers alone, as
// that node does what else there is to do. None: words of others may have been
// lost, and everybody looks.
func (r *Relay) Heard(kinds []string) {
	if len(kinds) == 0 {
		r.notifications.WithLabelValues(notificationLost).Inc()
		r.Bell.ringAll()
		return
	}
	r.notifications.WithLabelValues(notificationReceived).Add(float64(len(kinds)))
	r.Bell.ring(kinds...)
}

// Run tells other nodes until the context ends, and then what is left: so it
// ends after the workers, who give back what they have not done.
func (r *Relay) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-r.rung:
			r.tell(ctx)
			sleep(ctx, tellEvery, nil)
		}
	}
	r.tell(ctx)
	return nil
}

// tell tells what is untold, in one call that the end of the relay does not cut
// off.
func (r *Relay) tell(ctx context.Context) {
	kinds := r.take()
	if len(kinds) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellWithin)
	defer cancel()
	if err := r.Tell(ctx, kinds); err != nil {
		r.notifications.WithLabelValues(notificationFailed).Add(float64(len(kinds)))
		return
	}
	r.notifications.WithLabelValues(notificationSent).Add(float64(len(kinds)))
}

// tellWithin bounds a call of Tell.
const tellWithin = 2 * time.Second

func (r *Relay) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	kinds := slices.Sorted(maps.Keys(r.untold))
	clear(r.untold)
	return kinds
}
