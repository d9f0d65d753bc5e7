package pressure

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// told is what a gauge tells of itself.
type told struct {
	level       prometheus.Gauge
	ratios      *prometheus.GaugeVec // by resource: memory, requests
	lag         prometheus.Gauge
	shed, would map[What]prometheus.Counter
}

func newTold(r prometheus.Registerer) *told {
	on := promauto.With(r)
	shed := on.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_load_shed_refusals_total", Help: "Requests that an overloaded node refused, by what; idling counts the sessions that it closed.",
	}, []string{"what"})
	would := on.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_load_shed_dry_run_refusals_total", Help: "Requests that an overloaded node would have refused without the dry run (limits.dry_run), by what; idling counts the rounds in which it would have closed sessions.",
	}, []string{"what"})
	t := &told{
		level: on.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_load_shed_level", Help: "Load shedding level of the node: 0 (nothing is refused) to 5.",
		}),
		ratios: on.NewGaugeVec(prometheus.GaugeOpts{
			Name: "laststand_load_shed_utilization_ratio", Help: "Share of a limit of the node that is in use, by resource.",
		}, []string{"resource"}),
		lag: on.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_load_shed_scheduler_lag_seconds", Help: "Time that goroutines wait for a processor, 99th percentile.",
		}),
		shed: make(map[What]prometheus.Counter), would: make(map[What]prometheus.Counter),
	}
	for what := range from {
		t.shed[what], t.would[what] = shed.WithLabelValues(string(what)), would.WithLabelValues(string(what))
	}
	return t
}

// signal shows the value of a signal: the scheduler lag in seconds, or the share
// of a limit that is in use.
func (t *told) signal(s Signal, value float64) {
	if s.Name == lagSignal {
		t.lag.Set(value)
		return
	}
	t.ratios.WithLabelValues(s.Name).Set(value)
}
