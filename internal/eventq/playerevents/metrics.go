package playerevents

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

type metrics struct {
	here             prometheus.Gauge
	recordFailures   prometheus.Counter
	storeErrors      prometheus.Counter
	deadNodeSessions prometheus.Counter
}

func newMetrics(r prometheus.Registerer) metrics {
	factory := metric.For(r, "laststand_behaviours_")
	return metrics{
		here:             factory.Gauge("player_sessions", "Sessions of players at this node whose end the server will report."),
		recordFailures:   factory.Counter("session_record_failures_total", "Sessions that this node could not record because too many waited; their end is lost if the node dies."),
		storeErrors:      factory.Counter("session_store_errors_total", "Calls of the session store that failed."),
		deadNodeSessions: factory.Counter("dead_node_sessions_total", "Sessions of dead nodes whose end this node reported."),
	}
}
