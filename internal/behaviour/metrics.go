package behaviour

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are of this node; what the queues hold and have counted is the
// census's.
type metrics struct {
	batch, age, seconds         prometheus.Histogram
	sends, flushes, storeErrors *prometheus.CounterVec
	retries, limited, unpushed  prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	f := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, []string{label})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return f.NewHistogram(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets})
	}
	return &metrics{
		batch:       histogram("batch_size", "Behaviours of a try to send, by this node.", prometheus.ExponentialBuckets(1, 2, 8)),
		age:         histogram("item_age_seconds", "Since a behaviour was done, when this node tried to send it.", []float64{0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 90, 120, 150, 175, 180}),
		seconds:     histogram("send_seconds", "Time of a try to send.", prometheus.ExponentialBuckets(0.001, 2, 14)),
		sends:       counters("sends_total", "Tries to send by this node, by the code of the answer.", "code"),
		flushes:     counters("flushes_total", "Batches taken by this node: full, by the age of their oldest, or as an operator drains.", "trigger"),
		storeErrors: counters("store_errors_total", "Calls of the queue's store that failed.", "call"),
		retries:     counter("retries_total", "Tries to send by this node that were not a batch's first."),
		limited:     counter("rate_limited_total", "Times that this node had to wait for a game's rate or cool-down."),
		unpushed:    counter("unpushed_total", "Behaviours lost with the end of this node before they were known to be in the queue."),
	}
}

func (m *metrics) tried(b *batch, now int64) {
	m.batch.Observe(float64(len(b.items)))
	for _, item := range b.items {
		m.age.Observe(float64(now-item.At) / 1000)
	}
}

func (m *metrics) answered(o Outcome, took time.Duration) {
	m.seconds.Observe(took.Seconds())
	m.sends.WithLabelValues(o.Code).Inc()
}
