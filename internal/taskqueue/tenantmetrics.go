package taskqueue

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The limits that a poll can reach, which are values of the label bound of
// laststand_game_tasks_poll_refusals_total.
const (
	limitNode = "node" // maxWaitingPolls
	limitGame = "game" // maxWaitingPerGame
)

// tenantMetricPrefix is the start of the names of metrics about the tasks of games.
const tenantMetricPrefix = "laststand_game_tasks_"

// tenantMetrics are metrics about the calls of games' programs at this node.
type tenantMetrics struct {
	enqueues                 *prometheus.CounterVec
	claimed, completed, dead prometheus.Counter
	failures, refusedPolls   *prometheus.CounterVec
	waiting                  prometheus.Gauge
}

func newTenantMetrics(r prometheus.Registerer) *tenantMetrics {
	factory := promauto.With(r)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: tenantMetricPrefix + name, Help: help})
	}
	counters := func(name, help, label string, values ...string) *prometheus.CounterVec {
		vec := factory.NewCounterVec(prometheus.CounterOpts{Name: tenantMetricPrefix + name, Help: help}, []string{label})
		for _, value := range values {
			vec.WithLabelValues(value)
		}
		return vec
	}
	return &tenantMetrics{
		enqueues:  counters("enqueues_total", "Tasks that games enqueued at this node, by whether their key was new or known.", "key", keyNew, keyKnown),
		claimed:   counter("claims_total", "Tasks of games that this node handed to a worker."),
		completed: counter("completions_total", "Tasks of games that workers completed at this node."),
		dead:      counter("dead_letters_total", "Tasks of games that became dead letters after an attempt reported to this node; see `server tasks list`."),
		failures: counters("failures_total", "Attempts of games' workers that failed, by reason; lost: the lease had ended; "+
			"returned: the worker left; store: the store failed.", "reason",
			reasonError, reasonPermanent, reasonPostponed, reasonLost, reasonReturned, reasonStore),
		refusedPolls: counters("poll_refusals_total", "Long polls that could not wait because a limit was reached, by whose limit.", "bound", limitNode, limitGame),
		waiting:      factory.NewGauge(prometheus.GaugeOpts{Name: tenantMetricPrefix + "polls", Help: "Long polls of games' workers that wait at this node."}),
	}
}

// The values of the label key: whether a task with the same key existed.
const (
	keyNew   = "new"
	keyKnown = "known"
)

func (m *tenantMetrics) countEnqueued(accepted []Accepted) {
	for _, a := range accepted {
		if a.New {
			m.enqueues.WithLabelValues(keyNew).Inc()
		} else {
			m.enqueues.WithLabelValues(keyKnown).Inc()
		}
	}
}

// recordFailure counts a failed attempt. The parameter task is the task before
// this attempt was recorded.
func (m *tenantMetrics) recordFailure(attempt FailedAttempt, task Task) {
	switch {
	case attempt.Postponed:
		m.failures.WithLabelValues(reasonPostponed).Inc()
		return
	case attempt.Final:
		m.failures.WithLabelValues(reasonPermanent).Inc()
	default:
		m.failures.WithLabelValues(reasonError).Inc()
	}
	if attempt.Final || task.Tries+1 >= task.MaxTries {
		m.dead.Inc()
	}
}
