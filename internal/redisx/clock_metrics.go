package redisx

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// clockMetrics is one collector, so that all metrics are registered together or not at
// all.
type clockMetrics struct {
	steps        *prometheus.CounterVec
	readFailures prometheus.Counter
	collectors   []prometheus.Collector
}

func newClockMetrics(c *Clock) *clockMetrics {
	gauge := func(name, help string, ns func(e *estimate, now int64) int64) prometheus.Collector {
		read := func() float64 { return time.Duration(ns(c.estimate.Load(), c.localTime())).Seconds() }
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "laststand_clock_" + name, Help: help}, read)
	}
	metrics := &clockMetrics{
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_clock_steps_total", Help: "Steps of the reference clock, by direction.",
		}, []string{"direction"}),
		readFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "laststand_clock_read_failures_total", Help: "Reads of the reference clock that failed or took over 1 s.",
		}),
	}
	metrics.steps.WithLabelValues("ahead")
	metrics.steps.WithLabelValues("behind")
	metrics.collectors = []prometheus.Collector{
		metrics.steps, metrics.readFailures,
		gauge("offset_seconds", "Time by which cluster time is ahead of the reference clock.",
			func(e *estimate, now int64) int64 { return e.aheadAt(now) }),
		gauge("unconfirmed_step_seconds", "Step of the reference clock that cluster time does not follow because no second clock confirms it; 0 when there is none.",
			func(*estimate, int64) int64 { return c.ignoredStep.Load() }),
		gauge("uncertainty_seconds", "Largest error of the estimate of the reference clock.",
			func(e *estimate, now int64) int64 { return e.best.uncertainty(now) }),
		gauge("reference_age_seconds", "Time since the reference clock last answered.",
			func(e *estimate, now int64) int64 { return now - e.answeredAt }),
	}
	return metrics
}

// recordStep counts a step of the reference; jump is above 0 if it stepped forward.
func (m *clockMetrics) recordStep(jump time.Duration) {
	direction := "ahead"
	if jump < 0 {
		direction = "behind"
	}
	m.steps.WithLabelValues(direction).Inc()
}

// Describe implements prometheus.Collector.
func (m *clockMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, collector := range m.collectors {
		collector.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (m *clockMetrics) Collect(out chan<- prometheus.Metric) {
	for _, collector := range m.collectors {
		collector.Collect(out)
	}
}
