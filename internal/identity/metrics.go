package identity

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// newRefused counts refused tokens.
func newRefused(r prometheus.Registerer) *prometheus.CounterVec {
	refused := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_tokens_refused_total", Help: "Tokens refused at this node, by reason.",
	}, []string{"reason"})
	for _, one := range refusals {
		refused.WithLabelValues(one.label)
	}
	return refused
}

type barMetrics struct {
	known    *prometheus.GaugeVec
	failures prometheus.Counter
	readAt   atomic.Int64 // epoch ms, the last time that all changes were known
}

func newBarMetrics(r prometheus.Registerer, now func() int64) *barMetrics {
	on := promauto.With(r)
	m := &barMetrics{
		known: on.NewGaugeVec(prometheus.GaugeOpts{
			Name: "laststand_bars", Help: "Bans, revocations and erasures in force that this node knows, by kind.",
		}, []string{"kind"}),
		failures: on.NewCounter(prometheus.CounterOpts{
			Name: "laststand_bars_read_failures_total", Help: "Readings of bans and revocations that failed: those known stay in force.",
		}),
	}
	on.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_bars_lag_seconds", Help: "Since this node last knew all bans and revocations.",
	}, func() float64 { return float64(now()-m.readAt.Load()) / 1000 })
	m.know(nil)
	return m
}

func (m *barMetrics) know(counts map[BarKind]int) {
	for _, kind := range BarKinds() {
		m.known.WithLabelValues(string(kind)).Set(float64(counts[kind]))
	}
}
