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
		allowed:     counter("allowed_total", "What a limit let through."),
		refused:     counter("refused_total", "What a limit refused."),
		wouldRefuse: counter("would_refuse_total", "What a limit on trial (limits.dry_run) would have refused, and let through."),
		alone:       counter("alone_total", "Decisions of a limit over all nodes that this node took alone, since what they share was out of reach."),
		forgotten:   counter("forgotten_total", "Keys that this node forgot before their bucket was full again, since there were too many of them."),
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
		Name: "laststand_limit_keys", Help: "Addresses, players and the like that a limit remembers at this node.",
		ConstLabels: prometheus.Labels{"rule": rule},
	}, func() float64 { return float64(b.len()) })
}
