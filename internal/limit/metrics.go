package limit

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	on                                              promauto.Factory
	allowed, refused, wouldRefuse, alone, forgotten *prometheus.CounterVec
}

// told are a rule's own.
type told struct{ allowed, refused, wouldRefuse, alone, forgotten prometheus.Counter }

func newMetrics(r prometheus.Registerer) *metrics {
	on := promauto.With(r)
	counter := func(name, help string) *prometheus.CounterVec {
		return on.NewCounterVec(prometheus.CounterOpts{Namespace: "laststand", Subsystem: "limit", Name: name, Help: help}, []string{"rule"})
	}
	return &metrics{
		on:          on,
		allowed:     counter("passes_total", "Requests that a limit let through."),
		refused:     counter("refusals_total", "Requests that a limit refused."),
		wouldRefuse: counter("dry_run_refusals_total", "Requests that a limit in dry run (limits.dry_run) would have refused."),
		alone:       counter("store_errors_total", "Decisions of a cluster-wide limit that this node made alone because the shared store did not answer."),
		forgotten:   counter("evicted_keys_total", "Keys that this node evicted before their bucket was full again because there were too many keys."),
	}
}

func (m *metrics) of(rule string) told {
	return told{
		m.allowed.WithLabelValues(rule), m.refused.WithLabelValues(rule), m.wouldRefuse.WithLabelValues(rule),
		m.alone.WithLabelValues(rule), m.forgotten.WithLabelValues(rule),
	}
}

// show tells how many keys a rule remembers.
func (m *metrics) show(rule string, b *buckets) {
	m.on.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_limit_keys", Help: "Addresses, players and other keys that a limit remembers at this node.",
		ConstLabels: prometheus.Labels{"rule": rule},
	}, func() float64 { return float64(b.len()) })
}
