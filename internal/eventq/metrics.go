package eventq

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are about this node. statsCollector exports what the queues hold and
// have counted.
type metrics struct {
	batch, age, seconds         prometheus.Histogram
	sends, flushes, storeErrors *prometheus.CounterVec
	retries, limited, flushLost prometheus.Counter
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
		batch:       histogram("batch_size", "Behaviours per attempt of this node to send a batch.", prometheus.ExponentialBuckets(1, 2, 8)),
		age:         histogram("item_age_seconds", "Age of a behaviour when this node tried to send it.", []float64{0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 90, 120, 150, 175, 180}),
		seconds:     histogram("send_duration_seconds", "Duration of an attempt to send a batch.", prometheus.ExponentialBuckets(0.001, 2, 14)),
		sends:       counters("sends_total", "Attempts of this node to send a batch, by the code of the answer.", "code"),
		flushes:     counters("flushes_total", "Batches that this node took from a queue, by trigger: full, age, or a drain by an operator.", "trigger"),
		storeErrors: counters("store_errors_total", "Calls of the queue's store that failed.", "call"),
		retries:     counter("retries_total", "Attempts of this node to send a batch again."),
		limited:     counter("rate_limit_waits_total", "Times that this node waited for a game's rate limit or cool-down."),
		flushLost:   counter("flush_lost_total", "Behaviours lost when this node stopped before the queue confirmed them."),
	}
}

func (m *metrics) observeSend(b *batch, now int64) {
	m.batch.Observe(float64(len(b.items)))
	for _, item := range b.items {
		m.age.Observe(float64(now-item.At) / 1000)
	}
}

func (m *metrics) observeAnswer(o Outcome, took time.Duration) {
	m.seconds.Observe(took.Seconds())
	m.sends.WithLabelValues(o.Code).Inc()
}
