package eventq

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Whose bound a poll that may not wait has reached: the reasons of
// laststand_tasks_own_polls_refused_total.
const (
	crowdedNode = "node"
	crowdedGame = "game"
)

// frontMetrics are of what games' own producers and workers ask of this node.
type frontMetrics struct {
	taken                    *prometheus.CounterVec
	claimed, completed, dead prometheus.Counter
	failures, refused        *prometheus.CounterVec
	waiting                  prometheus.Gauge
}

func newFrontMetrics(r prometheus.Registerer) *frontMetrics {
	f := promauto.With(r)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: prefix + "own_" + name, Help: help})
	}
	counters := func(name, help, label string, values ...string) *prometheus.CounterVec {
		all := f.NewCounterVec(prometheus.CounterOpts{Name: prefix + "own_" + name, Help: help}, []string{label})
		for _, value := range values {
			all.WithLabelValues(value)
		}
		return all
	}
	return &frontMetrics{
		taken:     counters("enqueued_total", "Tasks of games' own that this node took, or whose keys were known already.", "key", keyNew, keyKnown),
		claimed:   counter("claimed_total", "Tasks of games' own that this node handed out."),
		completed: counter("completed_total", "Tasks of games' own that were completed at this node."),
		dead:      counter("dead_total", "Tasks of games' own that are dead as this node was told of a try; see `server tasks list`."),
		failures: counters("failures_total", "Tries of games' own workers that this node was told have failed, by reason; lost: a lease that holds no more; "+
			"returned: whoever polled had gone; store: and it could not be given back.", "reason",
			reasonError, reasonPermanent, reasonPostponed, reasonLost, reasonReturned, reasonStore),
		refused: counters("polls_refused_total", "Polls that could not wait, by whose bound is reached.", "bound", crowdedNode, crowdedGame),
		waiting: f.NewGauge(prometheus.GaugeOpts{Name: prefix + "own_polls_waiting", Help: "Polls of games' own workers that wait at this node."}),
	}
}

const (
	keyNew   = "new"
	keyKnown = "known"
)

func (m *frontMetrics) enqueued(accepted []Accepted) {
	for _, a := range accepted {
		if a.New {
			m.taken.WithLabelValues(keyNew).Inc()
		} else {
			m.taken.WithLabelValues(keyKnown).Inc()
		}
	}
}

// failed counts a try of a task, as that was before.
func (m *frontMetrics) failed(x Failed, t Task) {
	switch {
	case x.Postponed:
		m.failures.WithLabelValues(reasonPostponed).Inc()
		return
	case x.Final:
		m.failures.WithLabelValues(reasonPermanent).Inc()
	default:
		m.failures.WithLabelValues(reasonError).Inc()
	}
	if x.Final || t.Tries+1 >= t.MaxTries {
		m.dead.Inc()
	}
}
