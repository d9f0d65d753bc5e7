package checker

import (
	"context"
	"sync"
	"time"
)

// meter measures how late goroutines of this program run, and how long hellos take. It
// is safe for concurrent use.
type meter struct {
	mu     sync.Mutex
	hellos []hello
	pauses []int64 // ms
}

// hello is a connection that the server welcomed.
type hello struct {
	server string
	span
}

func (m *meter) welcomed(server string, took time.Duration) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hellos = append(m.hellos, hello{server, span{now.Add(-took), now}})
}

// pauseEvery is the interval of the measurements of how late goroutines run.
const pauseEvery = 20 * time.Millisecond

// start measures until the caller calls stop.
func (m *meter) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var measuring sync.WaitGroup
	measuring.Go(func() { m.measure(ctx) })
	return func() {
		cancel()
		measuring.Wait()
	}
}

// measure measures how late goroutines of this program run, until ctx ends.
func (m *meter) measure(ctx context.Context) {
	for ctx.Err() == nil {
		due := time.Now().Add(pauseEvery)
		_ = pause(ctx, pauseEvery)
		m.mu.Lock()
		m.pauses = append(m.pauses, max(time.Since(due).Milliseconds(), 0))
		m.mu.Unlock()
	}
}

// delays returns the delays of all questions that reached players.
func (o *checker) delays(contenders []*contender) (d Delays) {
	for _, c := range contenders {
		for _, a := range c.shown {
			d.add(a, o)
		}
	}
	o.meter.mu.Lock()
	defer o.meter.mu.Unlock()
	for _, h := range o.meter.hellos {
		if o.fleet.outages.end(h.server, h.span).IsZero() {
			d.Hellos = append(d.Hellos, h.to.Sub(h.from).Milliseconds())
		}
	}
	d.Pauses = append(d.Pauses, o.meter.pauses...)
	d.sort()
	return d
}
