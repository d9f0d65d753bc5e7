// Package metric makes the Prometheus metrics of all packages.
//
// A [Factory] makes and registers the metrics of one subject, such as the leaderboards. The
// package must not know any subject.
package metric

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Factory makes metrics and registers them. The names of its metrics begin with a prefix. It
// panics if a name is registered already. The zero Factory registers nothing.
type Factory struct {
	registry prometheus.Registerer
	prefix   string
}

// For returns a factory for a prefix, such as "laststand_ws_". With a nil registry it registers
// nothing.
func For(registry prometheus.Registerer, prefix string) Factory { return Factory{registry, prefix} }

// With returns a factory whose metrics also have constant labels.
func (f Factory) With(labels prometheus.Labels) Factory {
	if f.registry != nil {
		f.registry = prometheus.WrapRegistererWith(labels, f.registry)
	}
	return f
}

// Counter returns a counter.
func (f Factory) Counter(name, help string) prometheus.Counter {
	return promauto.With(f.registry).NewCounter(prometheus.CounterOpts{Name: f.prefix + name, Help: help})
}

// Counters returns a counter for each combination of the values of labels.
func (f Factory) Counters(name, help string, labels ...string) *prometheus.CounterVec {
	return promauto.With(f.registry).NewCounterVec(prometheus.CounterOpts{Name: f.prefix + name, Help: help}, labels)
}

// CountersOf is Counters with one label, whose first values are known. Their counters are visible
// from the start.
func (f Factory) CountersOf(name, help, label string, values ...string) *prometheus.CounterVec {
	counters := f.Counters(name, help, label)
	for _, value := range values {
		counters.WithLabelValues(value)
	}
	return counters
}

// CounterFunc registers a counter that a function reads.
func (f Factory) CounterFunc(name, help string, read func() float64) {
	promauto.With(f.registry).NewCounterFunc(prometheus.CounterOpts{Name: f.prefix + name, Help: help}, read)
}

// Gauge returns a gauge.
func (f Factory) Gauge(name, help string) prometheus.Gauge {
	return promauto.With(f.registry).NewGauge(prometheus.GaugeOpts{Name: f.prefix + name, Help: help})
}

// Gauges returns a gauge for each combination of the values of labels.
func (f Factory) Gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return promauto.With(f.registry).NewGaugeVec(prometheus.GaugeOpts{Name: f.prefix + name, Help: help}, labels)
}

// GaugeFunc registers a gauge that a function reads.
func (f Factory) GaugeFunc(name, help string, read func() float64) {
	promauto.With(f.registry).NewGaugeFunc(prometheus.GaugeOpts{Name: f.prefix + name, Help: help}, read)
}

// Histogram returns a histogram.
func (f Factory) Histogram(name, help string, buckets []float64) prometheus.Histogram {
	return promauto.With(f.registry).NewHistogram(prometheus.HistogramOpts{Name: f.prefix + name, Help: help, Buckets: buckets})
}

// Histograms returns a histogram for each combination of the values of labels.
func (f Factory) Histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return promauto.With(f.registry).NewHistogramVec(prometheus.HistogramOpts{Name: f.prefix + name, Help: help, Buckets: buckets}, labels)
}

// BoolValue returns the value of a gauge that is 1 or 0.
func BoolValue(isTrue bool) float64 {
	if isTrue {
		return 1
	}
	return 0
}
