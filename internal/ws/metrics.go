package ws

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	sessions   prometheus.Gauge
	sleeping   prometheus.Gauge
	awakenings prometheus.Counter
	messages   *prometheus.CounterVec // by type
	refused    *prometheus.CounterVec // by code, or upgrade
	closed     *prometheus.CounterVec // by close code, or gone, or cut
	panics     prometheus.Counter
	answered   prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	on := promauto.With(r)
	return &metrics{
		sessions: on.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_ws_sessions", Help: "Live websockets at this node.",
		}),
		sleeping: on.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_ws_sleeping", Help: "Live websockets at this node that wait without a goroutine.",
		}),
		awakenings: on.NewCounter(prometheus.CounterOpts{
			Name: "laststand_ws_awakenings_total", Help: "Times that one of them got a goroutine again.",
		}),
		messages: on.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_ws_messages_total", Help: "Messages of clients.",
		}, []string{"type"}),
		refused: on.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_ws_refused_total", Help: "Messages refused, by code; upgrade: no websocket came about.",
		}, []string{"code"}),
		closed: on.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_ws_closed_total", Help: "Websockets closed, by code; gone: the client went; cut: turned away, or closed for another, without a word.",
		}, []string{"code"}),
		panics: on.NewCounter(prometheus.CounterOpts{
			Name: "laststand_ws_panics_total", Help: "Messages whose handling panicked.",
		}),
		answered: on.NewHistogram(prometheus.HistogramOpts{
			Name: "laststand_ws_answered_seconds", Help: "From an answer's frame to its reply in the outbox.",
			Buckets: []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .5, 2},
		}),
	}
}
