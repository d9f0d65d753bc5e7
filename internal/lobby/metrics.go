package lobby

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	joined   *prometheus.CounterVec // by outcome: queued, a code, failed
	paired   *prometheus.CounterVec // by opponent: player, bot
	finished prometheus.Counter
	undone   prometheus.Counter
	held     prometheus.Gauge
	waited   prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	on := promauto.With(r)
	return &metrics{
		joined: on.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_lobby_joins_total", Help: "Requests for an opponent, by outcome.",
		}, []string{"outcome"}),
		paired: on.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_lobby_pairings_total", Help: "Pairings that this node made, by kind of opponent.",
		}, []string{"opponent"}),
		finished: on.NewCounter(prometheus.CounterOpts{
			Name: "laststand_lobby_pairings_taken_over_total", Help: "Pairings that this node completed because another node did not.",
		}),
		undone: on.NewCounter(prometheus.CounterOpts{
			Name: "laststand_lobby_pairings_rolled_back_total", Help: "Pairings that this node rolled back because it could not create their match.",
		}),
		held: on.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_lobby_tickets", Help: "Tickets that wait at this node.",
		}),
		waited: on.NewHistogram(prometheus.HistogramOpts{
			Name: "laststand_lobby_wait_seconds", Help: "Wait of the older ticket of a pairing.",
			Buckets: []float64{.01, .05, .25, 1, 2, 4, 8, 16, 32, 64},
		}),
	}
}
