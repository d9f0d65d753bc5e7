package identity

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// nicknameMetrics count refused nicknames and failed suggestions.
type nicknameMetrics struct {
	refusals          *prometheus.CounterVec // by game and reason
	failedSuggestions *prometheus.CounterVec // failures, by game and reason
}

// The reasons of failed suggestions.
const (
	suggestionNotFound  = "not_found"
	suggestionNotStored = "not_stored"
)

// The reasons of refused nicknames.
const (
	refusalInvalid  = "invalid"
	refusalWord     = "word"    // it contains a refused word
	refusalTaken    = "taken"   // another player has it
	refusalReserved = "offered" // it is reserved for another requester
)

func newNicknameMetrics(r prometheus.Registerer) nicknameMetrics {
	factory := promauto.With(r)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Namespace: "laststand", Subsystem: "nickname", Name: name, Help: help}, append([]string{"game"}, labels...))
	}
	return nicknameMetrics{
		refusals: counter("refusals_total", "Nicknames that the server refused, by reason: invalid, word (a refused word), taken (another player has it), "+
			"offered (just suggested to another player).", "reason"),
		failedSuggestions: counter("suggestion_failures_total", "Suggestions of nicknames that failed, by reason: not_found (no three free names), not_stored (Redis did not answer).", "reason"),
	}
}
