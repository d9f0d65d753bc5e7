package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/timer"
)

// showTimers puts what the wheel does among the metrics.
func showTimers(r prometheus.Registerer, w *timer.Wheel) {
	gauge := func(name, help string, read func(timer.Stats) float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "laststand_timer_" + name, Help: help},
			func() float64 { return read(w.Stats()) }))
	}
	counter := func(name, help string, read func(timer.Stats) uint64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "laststand_timer_" + name, Help: help},
			func() float64 { return float64(read(w.Stats())) }))
	}
	gauge("pending", "Timers that wait.", func(s timer.Stats) float64 { return float64(s.Pending) })
	gauge("late_seconds", "How late the last timer was called.", func(s timer.Stats) float64 { return s.Late.Last.Seconds() })
	gauge("late_max_seconds", "How late the latest timer was called.", func(s timer.Stats) float64 { return s.Late.Max.Seconds() })
	counter("fired_total", "Timers called.", func(s timer.Stats) uint64 { return s.Fired })
	counter("stopped_total", "Timers stopped in time.", func(s timer.Stats) uint64 { return s.Stopped })
	counter("deferred_total", "Tries of due timers that found the queue full.", func(s timer.Stats) uint64 { return s.Deferred })
	counter("rebuilt_total", "Wheels given up for a fresh one.", func(s timer.Stats) uint64 { return s.Rebuilt })
}
