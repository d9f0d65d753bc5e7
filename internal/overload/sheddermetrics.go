package overload

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

type shedderMetrics struct {
	level, lag, duelLimit prometheus.Gauge
	ratios                *prometheus.GaugeVec   // by resource: memory, requests
	refused, wouldRefuse  *prometheus.CounterVec // by Kind
}

func newShedderMetrics(config ShedderConfig) shedderMetrics {
	factory := metric.For(config.Registry, "laststand_")
	var kinds []string // so that all counters are visible at 0
	for kind := range shedLevels {
		kinds = append(kinds, string(kind))
	}
	factory.GaugeFunc("duel_players", "Players at this node who play a duel or wait for one.", func() float64 { return float64(config.CountDuelPlayers()) })
	return shedderMetrics{
		level:       factory.Gauge("load_shed_level", "Load shedding level of the node: 0 (nothing is refused) to 5."),
		lag:         factory.Gauge("load_shed_scheduler_lag_seconds", "Time that goroutines wait for a processor, 99th percentile."),
		duelLimit:   factory.Gauge("duel_players_limit", "Players for whom this node has capacity in duels now; +Inf means all."),
		ratios:      factory.Gauges("load_shed_utilization_ratio", "Share of a limit of the node that is in use, by resource.", "resource"),
		refused:     factory.CountersOf("load_shed_refusals_total", "Requests that an overloaded node refused, by what; idling counts the sessions that it closed.", "what", kinds...),
		wouldRefuse: factory.CountersOf("load_shed_dry_run_refusals_total", "Requests that an overloaded node would have refused without the dry run (limits.dry_run), by what; idling counts the rounds in which it would have closed sessions.", "what", kinds...),
	}
}

func (m *shedderMetrics) setSignal(s *signal) {
	if s.name == lagName {
		m.lag.Set(s.value)
		return
	}
	m.ratios.WithLabelValues(s.name).Set(s.value)
}
