package answers

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The reasons of laststand_answers_losses_total and laststand_answers_failures_total.
const (
	reasonExpired     = "expired"     // the match expired in the store; counts the match
	reasonNoStanding  = "no_standing" // the ledger has no standing of the player; counts the player
	reasonUnreadable  = "unreadable"  // a record, or a match that this node cannot read
	reasonNotSettled  = "not_settled" // the ledger does not have the result, which is a dead letter
	reasonRefused     = "refused"     // the ledger refuses a block
	reasonUnavailable = "unavailable" // the store or the ledger is unreachable
)

type metrics struct {
	waiting  prometheus.Gauge
	saved    prometheus.Counter
	lost     *prometheus.CounterVec
	failures *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	m := &metrics{
		waiting: factory.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_answers_waiting_matches", Help: "Settled matches whose answers are not in the ledger yet.",
		}),
		saved: factory.NewCounter(prometheus.CounterOpts{
			Name: "laststand_answers_copies_total", Help: "Answers that this node copied to the ledger; an answer counts again if the copy is repeated.",
		}),
		lost: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_answers_losses_total", Help: "Matches, players or answers that never reach the ledger, by reason.",
		}, []string{"reason"}),
		failures: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_answers_failures_total", Help: "Attempts to copy answers that failed and are repeated, by reason.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{reasonExpired, reasonNoStanding, reasonUnreadable} {
		m.lost.WithLabelValues(reason)
	}
	for _, reason := range []string{reasonUnreadable, reasonNotSettled, reasonRefused, reasonUnavailable} {
		m.failures.WithLabelValues(reason)
	}
	return m
}
