package main

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
	"laststand/internal/timer"
)

func registerBuildInfo(registry prometheus.Registerer) {
	labels := prometheus.Labels{"version": version, "go_version": runtime.Version(), "revision": currentRevision()}
	metric.For(registry, "laststand_").With(labels).GaugeFunc("build_info", "Always 1. The labels are the version, the Go version and the commit of the server.", func() float64 { return 1 })
}

// newWheel returns a timing wheel with metrics.
func newWheel(registry prometheus.Registerer) *timer.Wheel {
	factory := metric.For(registry, "laststand_timer_")
	lateness := factory.Histogram("lateness_seconds", "Delay between the due time of a timer and its call.",
		[]float64{0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}) // a wheel with idle workers is at most two ticks of 10 ms late
	wheel := timer.New(timer.Config{OnCall: func(late time.Duration) { lateness.Observe(late.Seconds()) }})
	gauge := func(name, help string, value func(timer.Stats) float64) {
		factory.GaugeFunc(name, help, func() float64 { return value(wheel.Stats()) })
	}
	gauge("timers", "Timers that wait.", func(s timer.Stats) float64 { return float64(s.Pending) })
	gauge("due_timers", "Timers that are due and wait for a worker.", func(s timer.Stats) float64 { return float64(s.Waiting) })
	gauge("occupied_slots", "Slots of the timing wheel that hold timers.", func(s timer.Stats) float64 { return float64(s.Slots) })
	gauge("busy_workers", "Workers that are calling the function of a timer.", func(s timer.Stats) float64 { return float64(s.Running) })
	gauge("max_lateness_seconds", "Largest delay between the due time of a timer and its call since the start.", func(s timer.Stats) float64 { return s.MaxLate.Seconds() })
	factory.CounterFunc("cancellations_total", "Timers stopped in time or reset.", func() float64 { return float64(wheel.Stats().Stopped) })
	return wheel
}
