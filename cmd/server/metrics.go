package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/timer"
)

// registerBuildInfo adds laststand_build_info, a gauge that is always 1 and whose
// labels describe the program.
func registerBuildInfo(registry prometheus.Registerer, b build) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "laststand_build_info",
		Help:        "Always 1. The labels are the version, the Go version and the commit of the server.",
		ConstLabels: prometheus.Labels{"version": b.version, "go_version": b.goVersion, "revision": b.revision},
	}, func() float64 { return 1 }))
}

// newUnreplicatedWinsCounter counts the winners of buzzer questions that the server announced
// before a replica had the answer.
func newUnreplicatedWinsCounter(r prometheus.Registerer) func() {
	c := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "laststand_match_unreplicated_wins_total",
		Help: "Buzzer questions whose winner was announced although no replica confirmed the answer within 100 ms.",
	})
	r.MustRegister(c)
	return c.Inc
}

func registerTimerMetrics(r prometheus.Registerer, w *timer.Wheel) {
	r.MustRegister(timerMetrics{w})
}

// timerMetrics is the Prometheus collector of a timing wheel. It reads the statistics of the
// wheel once per scrape.
type timerMetrics struct{ wheel *timer.Wheel }

func timerMetric(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("laststand_timer_"+name, help, nil, nil)
}

var (
	timersPending      = timerMetric("timers", "Timers that wait.")
	timersDue          = timerMetric("due_timers", "Timers that are due and wait for a worker.")
	occupiedTimerSlots = timerMetric("occupied_slots", "Slots of the timing wheel that hold timers.")
	busyTimerWorkers   = timerMetric("busy_workers", "Workers that are calling the function of a timer.")
	timerLateness      = timerMetric("lateness_seconds", "Delay between the due time of a timer and its call.")
	maxTimerLateness   = timerMetric("max_lateness_seconds", "Largest delay between the due time of a timer and its call since the start.")
	timerCancellations = timerMetric("cancellations_total", "Timers stopped in time or reset.")
	wheelRebuilds      = timerMetric("wheel_rebuilds_total", "Timing wheels replaced by a new one.")
)

func (m timerMetrics) Describe(descs chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, descs) }

func (m timerMetrics) Collect(metrics chan<- prometheus.Metric) {
	s := m.wheel.Stats()
	countsUpTo := make(map[float64]uint64, len(timer.LatenessBounds))
	for i, bound := range timer.LatenessBounds {
		countsUpTo[bound.Seconds()] = s.Late.Within[i]
	}
	metrics <- prometheus.MustNewConstHistogram(timerLateness, s.Fired, s.Late.Sum.Seconds(), countsUpTo)
	gauge := func(d *prometheus.Desc, v float64) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	gauge(timersPending, float64(s.Pending))
	gauge(timersDue, float64(s.Waiting))
	gauge(occupiedTimerSlots, float64(s.Slots))
	gauge(busyTimerWorkers, float64(s.Running))
	gauge(maxTimerLateness, s.Late.Max.Seconds())
	metrics <- prometheus.MustNewConstMetric(timerCancellations, prometheus.CounterValue, float64(s.Stopped))
	metrics <- prometheus.MustNewConstMetric(wheelRebuilds, prometheus.CounterValue, float64(s.Rebuilt))
}
