package main

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
	"laststand/internal/timer"
)

func registerBuildInfo(registry prometheus.Registerer) {
	labels := prometheus.Labels{"version": version, "go_version": runtime.Version(), "revision": currentRevision()}
	metric.For(registry, "laststand_").With(labels).GaugeFunc("build_info", "Always 1. The labels are the version, the Go version and the commit of the server.", func() float64 { return 1 })
}

// timerMetrics is the Prometheus collector of a timing wheel. It reads the statistics of the
// wheel once per scrape.
type timerMetrics struct{ wheel *timer.Wheel }

func timerMetric(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("laststand_timer_"+name, help, nil, nil)
}

var (
	timerLateness = timerMetric("lateness_seconds", "Delay between the due time of a timer and its call.")
	timerValues   = []struct {
		metric *prometheus.Desc
		kind   prometheus.ValueType
		value  func(timer.Stats) float64
	}{
		{timerMetric("timers", "Timers that wait."), prometheus.GaugeValue, func(s timer.Stats) float64 { return float64(s.Pending) }},
		{timerMetric("due_timers", "Timers that are due and wait for a worker."), prometheus.GaugeValue, func(s timer.Stats) float64 { return float64(s.Waiting) }},
		{timerMetric("occupied_slots", "Slots of the timing wheel that hold timers."), prometheus.GaugeValue, func(s timer.Stats) float64 { return float64(s.Slots) }},
		{timerMetric("busy_workers", "Workers that are calling the function of a timer."), prometheus.GaugeValue, func(s timer.Stats) float64 { return float64(s.Running) }},
		{timerMetric("max_lateness_seconds", "Largest delay between the due time of a timer and its call since the start."), prometheus.GaugeValue, func(s timer.Stats) float64 { return s.Late.Max.Seconds() }},
		{timerMetric("cancellations_total", "Timers stopped in time or reset."), prometheus.CounterValue, func(s timer.Stats) float64 { return float64(s.Stopped) }},
	}
)

func (m timerMetrics) Describe(descs chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, descs) }

func (m timerMetrics) Collect(metrics chan<- prometheus.Metric) {
	s := m.wheel.Stats()
	countsUpTo := make(map[float64]uint64, len(timer.LatenessBounds))
	for i, bound := range timer.LatenessBounds {
		countsUpTo[bound.Seconds()] = s.Late.Within[i]
	}
	metrics <- prometheus.MustNewConstHistogram(timerLateness, s.Fired, s.Late.Sum.Seconds(), countsUpTo)
	for _, v := range timerValues {
		metrics <- prometheus.MustNewConstMetric(v.metric, v.kind, v.value(s))
	}
}
