package ws

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

type metrics struct {
	sessions      prometheus.Gauge
	parked        prometheus.Gauge
	wakeups       prometheus.Counter
	messages      *prometheus.CounterVec // by type
	errors        *prometheus.CounterVec // by code, or "upgrade"
	closed        *prometheus.CounterVec // by close code, "gone" or "cut"
	panics        prometheus.Counter
	answerSeconds prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	factory := metric.For(r, "laststand_ws_")
	return &metrics{
		sessions:      factory.Gauge("sessions", "Live websockets at this node."),
		parked:        factory.Gauge("parked_sessions", "Live websockets at this node that wait without a goroutine."),
		wakeups:       factory.Counter("wakeups_total", "Times that a parked session got a goroutine again."),
		messages:      factory.Counters("messages_total", "Messages of clients, by type.", "type"),
		errors:        factory.Counters("refusals_total", "Messages refused, by error code; upgrade means that the websocket handshake failed.", "code"),
		closed:        factory.Counters("closes_total", "Websockets closed, by close code; gone means that the client left, cut that the server closed the connection without a close frame.", "code"),
		panics:        factory.Counter("panics_total", "Messages whose handler panicked."),
		answerSeconds: factory.Histogram("answer_duration_seconds", "Time from the frame of an answer to its reply in the outbox.", []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .5, 2}),
	}
}
