package leaderboard

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are an applier's, each by game.
type metrics struct {
	applied             *prometheus.HistogramVec
	rows, slices, waits *prometheus.CounterVec
	builds, drift       *prometheus.CounterVec
	behind, verified    *prometheus.GaugeVec
	failing             *prometheus.GaugeVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	f := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "laststand_boards_" + name, Help: help}, append([]string{"game"}, labels...))
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: "laststand_boards_" + name, Help: help}, []string{"game"})
	}
	return &metrics{
		applied: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "laststand_boards_apply_seconds", Help: "Until the boards held what the ledger held.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
		}, []string{"game"}),
		rows:     counter("rows_total", "Rows of the ledger applied to the boards by this node."),
		slices:   counter("slices_total", "Pieces of days taken out of rolling boards by this node."),
		waits:    counter("lease_waits_total", "Times that this node waited for another at the boards."),
		builds:   counter("builds_total", "Builds of boards begun by this node.", "reason"),
		drift:    counter("drift_total", "Differences between boards and ledger found by the slow check of this node."),
		behind:   gauge("rows_behind", "Rows above the boards' watermark when this node last looked, at most a page."),
		failing:  gauge("build_failing", "1 while the last build of the boards by this node has failed."),
		verified: gauge("verified_timestamp_seconds", "When the slow check of this node last went over all boards."),
	}
}
