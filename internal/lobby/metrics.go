package lobby

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

type metrics struct {
	joins       *prometheus.CounterVec // by outcome: queued, a code, failed
	pairings    *prometheus.CounterVec // by opponent: player, bot
	takenOver   prometheus.Counter
	rolledBack  prometheus.Counter
	waitSeconds prometheus.Histogram
}

func newMetrics(r prometheus.Registerer, local *localTickets) *metrics {
	factory := metric.For(r, "laststand_lobby_")
	factory.GaugeFunc("tickets", "Tickets that wait at this node.", func() float64 { return float64(local.LocalTickets()) })
	return &metrics{
		joins:       factory.Counters("joins_total", "Requests for an opponent, by outcome.", "outcome"),
		pairings:    factory.Counters("pairings_total", "Pairings that this node made, by kind of opponent.", "opponent"),
		takenOver:   factory.Counter("pairings_taken_over_total", "Pairings that this node completed because another node did not."),
		rolledBack:  factory.Counter("pairings_rolled_back_total", "Pairings that this node rolled back because it could not create their match."),
		waitSeconds: factory.Histogram("wait_seconds", "Time that the older ticket of a pairing has waited.", []float64{.01, .05, .25, 1, 2, 4, 8, 16, 32, 64}),
	}
}
