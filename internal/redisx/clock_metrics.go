package redisx

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// clockMetrics are one collector, so that they are registered all or none.
type clockMetrics struct {
	steps  *prometheus.CounterVec
	failed prometheus.Counter
	all    []prometheus.Collector
}

func newClockMetrics(c *Clock) *clockMetrics {
	gauge := func(name, help string, ns func(e *estimate, now int64) int64) prometheus.Collector {
		read := func() float64 { return time.Duration(ns(c.at.Load(), c.local())).Seconds() }
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "laststand_clock_" + name, Help: help}, read)
	}
	m := &clockMetrics{
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_clock_steps_total", Help: "Jumps of the reference, as at a fail-over.",
		}, []string{"direction"}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "laststand_clock_failures_total", Help: "Questions for the time that the reference did not answer within 1 s.",
		}),
	}
	m.steps.WithLabelValues("ahead")
	m.steps.WithLabelValues("behind")
	m.all = []prometheus.Collector{
		m.steps, m.failed,
		gauge("offset_seconds", "How far cluster time is ahead of the reference, which it slows to meet.",
			func(e *estimate, now int64) int64 { return e.aheadAt(now) }),
		gauge("held_seconds", "How far the reference has leaped without a second clock that agrees: cluster time does not follow. 0: it does.",
			func(*estimate, int64) int64 { return c.held.Load() }),
		gauge("uncertainty_seconds", "How far the estimate of the reference's time may be off.",
			func(e *estimate, now int64) int64 { return e.best.uncertainty(now) }),
		gauge("age_seconds", "Time since the reference last told its time.",
			func(e *estimate, now int64) int64 { return now - e.heard }),
	}
	return m
}

func (m *clockMetrics) stepped(jump time.Duration) {
	direction := "ahead"
	if jump < 0 {
		direction = "behind"
	}
	m.steps.WithLabelValues(direction).Inc()
}

// Describe is for the registry.
func (m *clockMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, one := range m.all {
		one.Describe(out)
	}
}

// Collect is for the registry.
func (m *clockMetrics) Collect(out chan<- prometheus.Metric) {
	for _, one := range m.all {
		one.Collect(out)
	}
}
