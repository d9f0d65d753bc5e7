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
			Name: "laststand_lobby_joined_total", Help: "Requests for an opponent by what became of them.",
		}, []string{"outcome"}),
		paired: on.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_lobby_paired_total", Help: "Pairings that this node has made.",
		}, []string{"opponent"}),
		finished: on.NewCounter(prometheus.CounterOpts{
			Name: "laststand_lobby_finished_total", Help: "Pairings taken over from a node that did not finish them.",
		}),
		undone: on.NewCounter(prometheus.CounterOpts{
			Name: "laststand_lobby_undone_total", Help: "Pairings taken back because their match could not be created.",
		}),
		held: on.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_lobby_tickets", Help: "Tickets that wait at this node.",
		}),
		waited: on.NewHistogram(prometheus.HistogramOpts{
			Name: "laststand_lobby_waited_seconds", Help: "How long the longer waiting ticket of a pairing has waited.",
			Buckets: []float64{.01, .05, .25, 1, 2, 4, 8, 16, 32, 64},
		}),
	}
}
