package redisx

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type clockMetrics struct {
	steps        *prometheus.CounterVec
	readFailures prometheus.Counter
}

// newClockMetrics registers the metrics. The function current returns the estimate and local time;
// the estimate is nil before the first reading.
func newClockMetrics(r prometheus.Registerer, current func() (*estimate, int64), ignoredStep func() int64) *clockMetrics {
	factory := promauto.With(r)
	gauge := func(name, help string, ns func(e *estimate, now int64) int64) {
		read := func() float64 {
			e, now := current()
			if e == nil {
				return 0
			}
			return time.Duration(ns(e, now)).Seconds()
		}
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "laststand_clock_" + name, Help: help}, read)
	}
	gauge("offset_seconds", "Time by which cluster time is ahead of the reference clock.",
		func(e *estimate, now int64) int64 { return e.aheadAt(now) })
	gauge("unconfirmed_step_seconds", "Step of the reference clock that cluster time does not follow because no second clock confirms it; 0 when there is none.",
		func(*estimate, int64) int64 { return ignoredStep() })
	gauge("uncertainty_seconds", "Largest error of the estimate of the reference clock.",
		func(e *estimate, now int64) int64 { return e.best.uncertainty(now) })
	gauge("reference_age_seconds", "Time since the reference clock last answered.",
		func(e *estimate, now int64) int64 { return now - e.answeredAt })
	metrics := &clockMetrics{
		steps: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_clock_steps_total", Help: "Steps of the reference clock, by direction.",
		}, []string{"direction"}),
		readFailures: factory.NewCounter(prometheus.CounterOpts{
			Name: "laststand_clock_read_failures_total", Help: "Reads of the reference clock that failed or took over 1 s.",
		}),
	}
	metrics.steps.WithLabelValues("ahead")
	metrics.steps.WithLabelValues("behind")
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
