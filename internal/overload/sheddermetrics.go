package overload

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type shedderMetrics struct {
	level, lag, duelLimit prometheus.Gauge
	ratios                *prometheus.GaugeVec   // by resource: memory, requests
	refused, wouldRefuse  *prometheus.CounterVec // by Kind
}

func newShedderMetrics(config ShedderConfig) shedderMetrics {
	factory := promauto.With(config.Registry)
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Namespace: "laststand", Name: name, Help: help})
	}
	counters := func(name, help string) *prometheus.CounterVec {
		vec := factory.NewCounterVec(prometheus.CounterOpts{Namespace: "laststand", Name: name, Help: help}, []string{"what"})
		for kind := range shedLevels { // so that all counters are visible at 0
			vec.WithLabelValues(string(kind))
		}
		return vec
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_duel_players", Help: "Players at this node who play a duel or wait for one.",
	}, func() float64 { return float64(config.CountDuelPlayers()) })
	return shedderMetrics{
		level:     gauge("load_shed_level", "Load shedding level of the node: 0 (nothing is refused) to 5."),
		lag:       gauge("load_shed_scheduler_lag_seconds", "Time that goroutines wait for a processor, 99th percentile."),
		duelLimit: gauge("duel_players_limit", "Players for whom this node has capacity in duels now; +Inf means all."),
		ratios: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "laststand_load_shed_utilization_ratio", Help: "Share of a limit of the node that is in use, by resource.",
		}, []string{"resource"}),
		refused:     counters("load_shed_refusals_total", "Requests that an overloaded node refused, by what; idling counts the sessions that it closed."),
		wouldRefuse: counters("load_shed_dry_run_refusals_total", "Requests that an overloaded node would have refused without the dry run (limits.dry_run), by what; idling counts the rounds in which it would have closed sessions."),
	}
}

func (m *shedderMetrics) setSignal(s *signal) {
	if s.name == lagName {
		m.lag.Set(s.value)
		return
	}
	m.ratios.WithLabelValues(s.name).Set(s.value)
}
