package overload

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// shedMetrics are the metrics of a Shedder.
type shedMetrics struct {
	level                prometheus.Gauge
	ratios               *prometheus.GaugeVec // by resource: memory, requests
	lag                  prometheus.Gauge
	refused, wouldRefuse map[Kind]prometheus.Counter
}

func newShedMetrics(r prometheus.Registerer) *shedMetrics {
	factory := promauto.With(r)
	refused := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_load_shed_refusals_total", Help: "Requests that an overloaded node refused, by what; idling counts the sessions that it closed.",
	}, []string{"what"})
	wouldRefuse := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_load_shed_dry_run_refusals_total", Help: "Requests that an overloaded node would have refused without the dry run (limits.dry_run), by what; idling counts the rounds in which it would have closed sessions.",
	}, []string{"what"})
	m := &shedMetrics{
		level: factory.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_load_shed_level", Help: "Load shedding level of the node: 0 (nothing is refused) to 5.",
		}),
		ratios: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "laststand_load_shed_utilization_ratio", Help: "Share of a limit of the node that is in use, by resource.",
		}, []string{"resource"}),
		lag: factory.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_load_shed_scheduler_lag_seconds", Help: "Time that goroutines wait for a processor, 99th percentile.",
		}),
		refused: make(map[Kind]prometheus.Counter), wouldRefuse: make(map[Kind]prometheus.Counter),
	}
	for kind := range shedLevels {
		m.refused[kind], m.wouldRefuse[kind] = refused.WithLabelValues(string(kind)), wouldRefuse.WithLabelValues(string(kind))
	}
	return m
}

// setSignal sets the metric of a signal: the scheduler lag in seconds, or the share of
// a limit that is in use.
func (m *shedMetrics) setSignal(signal Signal, value float64) {
	if signal.Name == lagName {
		m.lag.Set(value)
		return
	}
	m.ratios.WithLabelValues(signal.Name).Set(value)
}
