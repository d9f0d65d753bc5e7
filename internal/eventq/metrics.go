package eventq

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

// metrics are about this node. statsCollector exports what the queues hold and
// have counted.
type metrics struct {
	batch, age, seconds         prometheus.Histogram
	sends, flushes, storeErrors *prometheus.CounterVec
	retries, limited, flushLost prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	factory := metric.For(registry, prefix)
	return &metrics{
		batch:       factory.Histogram("batch_size", "Behaviours per attempt of this node to send a batch.", prometheus.ExponentialBuckets(1, 2, 8)),
		age:         factory.Histogram("item_age_seconds", "Age of a behaviour when this node tried to send it.", []float64{0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 90, 120, 150, 175, 180}),
		seconds:     factory.Histogram("send_duration_seconds", "Duration of an attempt to send a batch.", prometheus.ExponentialBuckets(0.001, 2, 14)),
		sends:       factory.Counters("sends_total", "Attempts of this node to send a batch, by the code of the answer.", "code"),
		flushes:     factory.Counters("flushes_total", "Batches that this node took from a queue, by trigger: size, age, or a drain by an operator.", "trigger"),
		storeErrors: factory.Counters("store_errors_total", "Calls of the queue's store that failed.", "call"),
		retries:     factory.Counter("retries_total", "Attempts of this node to send a batch again."),
		limited:     factory.Counter("rate_limit_waits_total", "Times that this node waited for a game's rate limit or cool-down."),
		flushLost:   factory.Counter("flush_lost_total", "Behaviours lost when this node stopped before the queue confirmed them."),
	}
}

// playerMetrics are about the players of this node.
type playerMetrics struct {
	here                                          prometheus.Gauge
	recordFailures, storeErrors, deadNodeSessions prometheus.Counter
}

func newPlayerMetrics(registry prometheus.Registerer) playerMetrics {
	factory := metric.For(registry, prefix)
	return playerMetrics{
		here:             factory.Gauge("player_sessions", "Sessions of players at this node whose end the server will report."),
		recordFailures:   factory.Counter("session_record_failures_total", "Sessions that this node could not record because too many waited; their end is lost if the node dies."),
		storeErrors:      factory.Counter("session_store_errors_total", "Calls of the session store that failed."),
		deadNodeSessions: factory.Counter("dead_node_sessions_total", "Sessions of dead nodes whose end this node reported."),
	}
}
