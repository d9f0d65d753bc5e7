package leaderboard

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

// metrics holds the metrics of one game's boards. builds has the label reason.
type metrics struct {
	applyDuration                          prometheus.Histogram
	appliedRows, evictedSlices, leaseWaits prometheus.Counter
	differences                            prometheus.Counter
	builds                                 *prometheus.CounterVec
	rowsBehind, lastVerification           prometheus.Gauge
	buildFailing                           prometheus.Gauge
}

func newMetrics(registry prometheus.Registerer, game string) *metrics {
	factory := metric.For(registry, "laststand_leaderboards_").With(prometheus.Labels{"game": game})
	return &metrics{
		applyDuration:    factory.Histogram("apply_duration_seconds", "Time that this node took to apply the ledger to the leaderboards.", []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}),
		appliedRows:      factory.Counter("rows_total", "Ledger rows that this node applied to the leaderboards."),
		evictedSlices:    factory.Counter("day_evictions_total", "Parts of days that this node removed from rolling windows."),
		leaseWaits:       factory.Counter("lease_waits_total", "Times that this node waited for another node's lease on the leaderboards."),
		differences:      factory.Counter("drift_total", "Differences between leaderboards and ledger that the verification of this node found."),
		builds:           factory.Counters("builds_total", "Builds of leaderboards that this node started, by reason.", "reason"),
		rowsBehind:       factory.Gauge("rows_behind", "Ledger rows above the watermark when this node last read the ledger, at most one page."),
		buildFailing:     factory.Gauge("build_failing", "1 while the last build of leaderboards by this node failed, else 0."),
		lastVerification: factory.Gauge("last_verification_timestamp_seconds", "Unix time when this node last finished a verification of all leaderboards."),
	}
}

// displayMetrics holds the metrics of a Display.
type displayMetrics struct {
	storeReads, cacheHits, pushes prometheus.Counter
	watchers                      prometheus.Gauge
}

func newDisplayMetrics(registry prometheus.Registerer) *displayMetrics {
	factory := metric.For(registry, "laststand_leaderboards_")
	pages := factory.Counters("pages_total", "Leaderboard pages served, by source: read from the store, or shared with a request just before.", "from")
	return &displayMetrics{
		storeReads: pages.WithLabelValues("read"), cacheHits: pages.WithLabelValues("shared"),
		watchers: factory.Gauge("watches", "Leaderboards that sessions at this node watch, counted per session."),
		pushes:   factory.Counter("pushes_total", "Leaderboard pushes to sessions."),
	}
}
