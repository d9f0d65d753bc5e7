package leaderboard

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics holds an applier's metrics. All have the label game. builds also has the label
// reason.
type metrics struct {
	applyDuration                          *prometheus.HistogramVec
	appliedRows, evictedSlices, leaseWaits *prometheus.CounterVec
	builds, differences                    *prometheus.CounterVec
	rowsBehind, lastVerification           *prometheus.GaugeVec
	buildFailing                           *prometheus.GaugeVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	factory := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: "laststand_leaderboards_" + name, Help: help}, append([]string{"game"}, labels...))
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: "laststand_leaderboards_" + name, Help: help}, []string{"game"})
	}
	return &metrics{
		applyDuration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "laststand_leaderboards_apply_duration_seconds", Help: "Time that this node took to apply the ledger to the leaderboards.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
		}, []string{"game"}),
		appliedRows:      counter("rows_total", "Ledger rows that this node applied to the leaderboards."),
		evictedSlices:    counter("day_evictions_total", "Parts of days that this node removed from rolling windows."),
		leaseWaits:       counter("lease_waits_total", "Times that this node waited for another node's lease on the leaderboards."),
		builds:           counter("builds_total", "Builds of leaderboards that this node started, by reason.", "reason"),
		differences:      counter("drift_total", "Differences between leaderboards and ledger that the verification of this node found."),
		rowsBehind:       gauge("rows_behind", "Ledger rows above the watermark when this node last read the ledger, at most one page."),
		buildFailing:     gauge("build_failing", "1 while the last build of leaderboards by this node failed, else 0."),
		lastVerification: gauge("last_verification_timestamp_seconds", "Unix time when this node last finished a verification of all leaderboards."),
	}
}
