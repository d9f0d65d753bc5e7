package lobby

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	joins       *prometheus.CounterVec // by outcome: queued, a code, failed
	pairings    *prometheus.CounterVec // by opponent: player, bot
	takenOver   prometheus.Counter
	rolledBack  prometheus.Counter
	tickets     prometheus.Gauge
	waitSeconds prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	factory := promauto.With(r)
	return &metrics{
		joins: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_lobby_joins_total", Help: "Requests for an opponent, by outcome.",
		}, []string{"outcome"}),
		pairings: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_lobby_pairings_total", Help: "Pairings that this node made, by kind of opponent.",
		}, []string{"opponent"}),
		takenOver: factory.NewCounter(prometheus.CounterOpts{
			Name: "laststand_lobby_pairings_taken_over_total", Help: "Pairings that this node completed because another node did not.",
		}),
		rolledBack: factory.NewCounter(prometheus.CounterOpts{
			Name: "laststand_lobby_pairings_rolled_back_total", Help: "Pairings that this node rolled back because it could not create their match.",
		}),
		tickets: factory.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_lobby_tickets", Help: "Tickets that wait at this node.",
		}),
		waitSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "laststand_lobby_wait_seconds", Help: "Time that the older ticket of a pairing has waited.",
			Buckets: []float64{.01, .05, .25, 1, 2, 4, 8, 16, 32, 64},
		}),
	}
}
