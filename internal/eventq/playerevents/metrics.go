package playerevents

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	here             prometheus.Gauge
	recordFailures   prometheus.Counter
	storeErrors      prometheus.Counter
	deadNodeSessions prometheus.Counter
}

func newMetrics(r prometheus.Registerer) metrics {
	on := promauto.With(r)
	count := func(name, help string) prometheus.Counter {
		return on.NewCounter(prometheus.CounterOpts{Name: "laststand_behaviours_" + name, Help: help})
	}
	return metrics{
		here:             on.NewGauge(prometheus.GaugeOpts{Name: "laststand_behaviours_player_sessions", Help: "Sessions of players at this node whose end the server will report."}),
		recordFailures:   count("session_record_failures_total", "Sessions that this node could not record because too many waited; their end is lost if the node dies."),
		storeErrors:      count("session_store_errors_total", "Calls of the session store that failed."),
		deadNodeSessions: count("dead_node_sessions_total", "Sessions of dead nodes whose end this node reported."),
	}
}
