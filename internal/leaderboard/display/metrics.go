package display

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	read, shared prometheus.Counter
	watches      prometheus.Gauge
	pushes       prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	on := promauto.With(r)
	pages := on.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_leaderboards_pages_total", Help: "Leaderboard pages served, by source: read from the store, or shared with a request just before.",
	}, []string{"from"})
	return &metrics{
		read: pages.WithLabelValues("read"), shared: pages.WithLabelValues("shared"),
		watches: on.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_leaderboards_watches", Help: "Leaderboards that sessions at this node watch, counted per session.",
		}),
		pushes: on.NewCounter(prometheus.CounterOpts{
			Name: "laststand_leaderboards_pushes_total", Help: "Leaderboard pushes to sessions.",
		}),
	}
}
