package leaderboard

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
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
	factory := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"game": game}, registry))
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: "laststand_leaderboards_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: "laststand_leaderboards_" + name, Help: help})
	}
	return &metrics{
		applyDuration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "laststand_leaderboards_apply_duration_seconds", Help: "Time that this node took to apply the ledger to the leaderboards.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
		}),
		appliedRows:   counter("rows_total", "Ledger rows that this node applied to the leaderboards."),
		evictedSlices: counter("day_evictions_total", "Parts of days that this node removed from rolling windows."),
		leaseWaits:    counter("lease_waits_total", "Times that this node waited for another node's lease on the leaderboards."),
		differences:   counter("drift_total", "Differences between leaderboards and ledger that the verification of this node found."),
		builds: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_leaderboards_builds_total", Help: "Builds of leaderboards that this node started, by reason.",
		}, []string{"reason"}),
		rowsBehind:       gauge("rows_behind", "Ledger rows above the watermark when this node last read the ledger, at most one page."),
		buildFailing:     gauge("build_failing", "1 while the last build of leaderboards by this node failed, else 0."),
		lastVerification: gauge("last_verification_timestamp_seconds", "Unix time when this node last finished a verification of all leaderboards."),
	}
}

// displayMetrics holds the metrics of a Display.
type displayMetrics struct {
	storeReads, cacheHits, pushes prometheus.Counter
	watchers                      prometheus.Gauge
}

func newDisplayMetrics(registry prometheus.Registerer) *displayMetrics {
	factory := promauto.With(registry)
	pages := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_leaderboards_pages_total", Help: "Leaderboard pages served, by source: read from the store, or shared with a request just before.",
	}, []string{"from"})
	return &displayMetrics{
		storeReads: pages.WithLabelValues("read"), cacheHits: pages.WithLabelValues("shared"),
		watchers: factory.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_leaderboards_watches", Help: "Leaderboards that sessions at this node watch, counted per session.",
		}),
		pushes: factory.NewCounter(prometheus.CounterOpts{
			Name: "laststand_leaderboards_pushes_total", Help: "Leaderboard pushes to sessions.",
		}),
	}
}
