package redisx

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

type clockMetrics struct {
	steps        *prometheus.CounterVec
	readFailures prometheus.Counter
}

// newClockMetrics registers the metrics of a clock. They are 0 before its first reading.
func newClockMetrics(r prometheus.Registerer, clock *Clock) *clockMetrics {
	factory := metric.For(r, "laststand_clock_")
	gauge := func(name, help string, ns func(e *estimate, now int64) int64) {
		factory.GaugeFunc(name, help, func() float64 {
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
	return &clockMetrics{
		steps:        factory.CountersOf("steps_total", "Steps of the reference clock, by direction.", "direction", "ahead", "behind"),
		readFailures: factory.Counter("read_failures_total", "Reads of the reference clock that failed or took over 1 s."),
	}
}
