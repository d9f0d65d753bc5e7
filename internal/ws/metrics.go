package ws

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
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
	factory := promauto.With(r)
	return &metrics{
		sessions: factory.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_ws_sessions", Help: "Live websockets at this node.",
		}),
		parked: factory.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_ws_parked_sessions", Help: "Live websockets at this node that wait without a goroutine.",
		}),
		wakeups: factory.NewCounter(prometheus.CounterOpts{
			Name: "laststand_ws_wakeups_total", Help: "Times that a parked session got a goroutine again.",
		}),
		messages: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_ws_messages_total", Help: "Messages of clients, by type.",
		}, []string{"type"}),
		errors: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_ws_refusals_total", Help: "Messages refused, by error code; upgrade means that the websocket handshake failed.",
		}, []string{"code"}),
		closed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_ws_closes_total", Help: "Websockets closed, by close code; gone means that the client left, cut that the server closed the connection without a close frame.",
		}, []string{"code"}),
		panics: factory.NewCounter(prometheus.CounterOpts{
			Name: "laststand_ws_panics_total", Help: "Messages whose handler panicked.",
		}),
		answerSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "laststand_ws_answer_duration_seconds", Help: "Time from the frame of an answer to its reply in the outbox.",
			Buckets: []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .5, 2},
		}),
	}
}
