package overload

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// limitMetrics are the metrics of a Limiter.
type limitMetrics struct {
	factory                                             promauto.Factory
	allowed, refused, wouldRefuse, storeErrors, evicted *prometheus.CounterVec
}

// ruleCounters are the counters of one rule.
type ruleCounters struct{ allowed, refused, wouldRefuse, storeErrors, evicted prometheus.Counter }

func newLimitMetrics(r prometheus.Registerer) *limitMetrics {
	factory := promauto.With(r)
	counter := func(name, help string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Namespace: "laststand", Subsystem: "limit", Name: name, Help: help}, []string{"rule"})
	}
	return &limitMetrics{
		factory:     factory,
		allowed:     counter("passes_total", "Requests that a limit let through."),
		refused:     counter("refusals_total", "Requests that a limit refused."),
		wouldRefuse: counter("dry_run_refusals_total", "Requests that a limit in dry run (limits.dry_run) would have refused."),
		storeErrors: counter("store_errors_total", "Decisions of a cluster-wide limit that this node made alone because the shared store did not answer."),
		evicted:     counter("evicted_keys_total", "Keys that this node evicted before their bucket was full again because there were too many keys."),
	}
}

func (m *limitMetrics) ruleCounters(rule string) ruleCounters {
	return ruleCounters{
		m.allowed.WithLabelValues(rule), m.refused.WithLabelValues(rule), m.wouldRefuse.WithLabelValues(rule),
		m.storeErrors.WithLabelValues(rule), m.evicted.WithLabelValues(rule),
	}
}

// addKeyGauge adds the gauge of the keys that a rule stores.
func (m *limitMetrics) addKeyGauge(rule string, b *bucketTable) {
	m.factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_limit_keys", Help: "Addresses, players and other keys that a limit remembers at this node.",
		ConstLabels: prometheus.Labels{"rule": rule},
	}, func() float64 { return float64(b.len()) })
}
