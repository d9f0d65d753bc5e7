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
		Name: "laststand_boards_pages_total", Help: "Pages of boards shown, by whether they were read or had been just before.",
	}, []string{"from"})
	return &metrics{
		read: pages.WithLabelValues("read"), shared: pages.WithLabelValues("shared"),
		watches: on.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_boards_watches", Help: "Boards watched at this node, each counted for each session.",
		}),
		pushes: on.NewCounter(prometheus.CounterOpts{
			Name: "laststand_boards_pushes_total", Help: "Pushes of boards to sessions.",
		}),
	}
}
