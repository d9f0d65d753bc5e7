package display

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	storeReads, cacheHits prometheus.Counter
	watchers              prometheus.Gauge
	pushes                prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	factory := promauto.With(registry)
	pages := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_leaderboards_pages_total", Help: "Leaderboard pages served, by source: read from the store, or shared with a request just before.",
	}, []string{"from"})
	return &metrics{
		storeReads: pages.WithLabelValues("read"), cacheHits: pages.WithLabelValues("shared"),
		watchers: factory.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_leaderboards_watches", Help: "Leaderboards that sessions at this node watch, counted per session.",
		}),
		pushes: factory.NewCounter(prometheus.CounterOpts{
			Name: "laststand_leaderboards_pushes_total", Help: "Leaderboard pushes to sessions.",
		}),
	}
}
