package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/timer"
)

// registerTimerMetrics registers the metrics of the timing wheel.
func showTimers(r prometheus.Registerer, w *timer.Wheel) {
	r.MustRegister(timerMetrics{w})
}

// timerMetrics is the Prometheus collector of a timing wheel. It reads the statistics of the
// wheel once per scrape.
type timerMetrics struct{ wheel *timer.Wheel }

func timerMetric(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("laststand_timer_"+name, help, nil, nil)
}

var (
	timersPending = timerMetric("timers", "Timers that wait.")
	timersWaiting = timerMetric("due_timers", "Timers that are due and wait for a worker.")
	timerSlots    = timerMetric("occupied_slots", "Slots of the timing wheel that hold timers.")
	timersRunning = timerMetric("busy_workers", "Workers that are calling the function of a timer.")
	timersLate    = timerMetric("lateness_seconds", "Delay between the due time of a timer and its call.")
	timerLatest   = timerMetric("max_lateness_seconds", "Largest delay between the due time of a timer and its call since the start.")
	timersStopped = timerMetric("cancellations_total", "Timers stopped in time or reset.")
	wheelsRebuilt = timerMetric("wheel_rebuilds_total", "Timing wheels replaced by a new one.")
)

// Describe implements prometheus.Collector.
func (m timerMetrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, to) }

// Collect implements prometheus.Collector.
func (m timerMetrics) Collect(to chan<- prometheus.Metric) {
	s := m.wheel.Stats()
	within := make(map[float64]uint64, len(timer.Bounds))
	for i, bound := range timer.Bounds {
		within[bound.Seconds()] = s.Late.Within[i]
	}
	to <- prometheus.MustNewConstHistogram(timersLate, s.Fired, s.Late.Sum.Seconds(), within)
	gauge := func(d *prometheus.Desc, v float64) { to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	gauge(timersPending, float64(s.Pending))
	gauge(timersWaiting, float64(s.Waiting))
	gauge(timerSlots, float64(s.Slots))
	gauge(timersRunning, float64(s.Running))
	gauge(timerLatest, s.Late.Max.Seconds())
	to <- prometheus.MustNewConstMetric(timersStopped, prometheus.CounterValue, float64(s.Stopped))
	to <- prometheus.MustNewConstMetric(wheelsRebuilt, prometheus.CounterValue, float64(s.Rebuilt))
}
