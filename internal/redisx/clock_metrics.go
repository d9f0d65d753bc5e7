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

// newClockMetrics registers the metrics of a clock. They are 0 before its first reading.
func newClockMetrics(r prometheus.Registerer, clock *Clock) *clockMetrics {
	factory := promauto.With(r)
	gauge := func(name, help string, ns func(e *estimate, now int64) int64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "laststand_clock_" + name, Help: help}, func() float64 {
			if e := clock.estimate.Load(); e != nil {
				return time.Duration(ns(e, clock.localTime())).Seconds()
			}
			return 0
		})
	}
	gauge("offset_seconds", "Time by which cluster time is ahead of the reference clock.",
		func(e *estimate, now int64) int64 { return e.aheadAt(now) })
	gauge("unconfirmed_step_seconds", "Step of the reference clock that cluster time does not follow because no second clock confirms it; 0 when there is none.",
		func(*estimate, int64) int64 { return clock.ignoredStep.Load() })
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
