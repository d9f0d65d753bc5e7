package webhook

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const prefix = "laststand_webhooks_"

// reasonDisabled is the value of the label reason in laststand_webhooks_drops_total.
const reasonDisabled = "disabled" // the endpoint is disabled, so the event was not enqueued for it

// metrics are the metrics of this node's deliveries, by endpoint.
type metrics struct {
	sends, drops *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	disabled     *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	counter := func(name, help, label string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, []string{"game", "endpoint", label})
	}
	return &metrics{
		sends: counter("sends_total", "Attempts of this node to deliver a message, by the status of the answer, pings included.", "code"),
		drops: counter("drops_total", "Events that this node did not enqueue for an endpoint that subscribes to them, by reason.", "reason"),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "send_duration_seconds", Help: "Duration of an attempt to deliver a message.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}, []string{"game", "endpoint"}),
		disabled: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "endpoint_disabled", Help: "1 while the endpoint is disabled, else 0, the same at every node; see `server webhooks`.",
		}, []string{"game", "endpoint"}),
	}
}

// initEndpoint creates the time series of an endpoint with zero values.
func (m *metrics) init(r *endpointState) {
	m.drops.WithLabelValues(r.Game, r.Name, reasonDisabled)
	m.seconds.WithLabelValues(r.Game, r.Name)
	m.setDisabled(r, false)
}

func (m *metrics) setDisabled(r *endpointState, isDisabled bool) {
	value := 0.0
	if isDisabled {
		value = 1
	}
	m.disabled.WithLabelValues(r.Game, r.Name).Set(value)
}

func (m *metrics) observeSend(r *endpointState, status int, took time.Duration) {
	m.sends.WithLabelValues(r.Game, r.Name, code(status)).Inc()
	m.seconds.WithLabelValues(r.Game, r.Name).Observe(took.Seconds())
}

// statusLabel returns an HTTP status as a metric label. Statuses outside of 200 to 599
// become "other", so that endpoints cannot create new labels.
func code(status int) string {
	switch {
	case status == 0:
		return "none"
	case status >= 200 && status <= 599:
		return strconv.Itoa(status)
	}
	return "other"
}
