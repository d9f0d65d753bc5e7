package arena

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/protocol"
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

// outcomeLabel returns the metric label of a request: success, a refusal code, or
// failed.
func outcomeLabel(err error, success string) string {
	var refusal *protocol.Error
	switch {
	case err == nil:
		return success
	case errors.As(err, &refusal):
		return string(refusal.Code)
	}
	return "failed"
}
