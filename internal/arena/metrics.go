package arena

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	creations *prometheus.CounterVec // by outcome: created, a code, failed
	joins     *prometheus.CounterVec // by outcome: a role, a code, failed
}

func newMetrics(r prometheus.Registerer) *metrics {
	factory := promauto.With(r)
	return &metrics{
		creations: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_arena_creations_total", Help: "Requests to create an arena, by outcome.",
		}, []string{"outcome"}),
		joins: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_arena_joins_total", Help: "Requests to join an arena, by outcome.",
		}, []string{"outcome"}),
	}
}
