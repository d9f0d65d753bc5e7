package arena

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/protocol"
)

type metrics struct {
	created *prometheus.CounterVec // by outcome: created, a code, bad_name, bad_word, failed
	joined  *prometheus.CounterVec // by outcome: a role, a code, failed
}

func newMetrics(r prometheus.Registerer) *metrics {
	on := promauto.With(r)
	return &metrics{
		created: on.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_arena_created_total", Help: "Requests for a new arena by what became of them.",
		}, []string{"outcome"}),
		joined: on.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_arena_joined_total", Help: "Requests for a place in an arena by what became of them.",
		}, []string{"outcome"}),
	}
}

// What refused names of arenas and teams count as, instead of their code.
const (
	asName = "bad_name"
	asWord = "bad_word"
)

// outcome is what became of a request that succeeds as done.
func outcome(err error, done string) string {
	var refused *protocol.Error
	var title *badTitle
	switch {
	case err == nil:
		return done
	case errors.As(err, &title):
		return title.outcome
	case errors.As(err, &refused):
		return string(refused.Code)
	}
	return "failed"
}
