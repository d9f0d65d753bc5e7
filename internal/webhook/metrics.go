package webhook

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

// reasonDisabled is the value of the label reason in laststand_webhooks_drops_total.
const reasonDisabled = "disabled" // the endpoint is disabled, so the event was not enqueued for it

// metrics are the metrics of this node's deliveries, by endpoint.
type metrics struct {
	sends, drops *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	disabled     *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	factory := metric.For(r, "laststand_webhooks_")
	return &metrics{
		sends:    factory.Counters("sends_total", "Attempts of this node to deliver a message, by the status of the answer, pings included.", "game", "endpoint", "code"),
		drops:    factory.Counters("drops_total", "Events that this node did not enqueue for an endpoint that subscribes to them, by reason.", "game", "endpoint", "reason"),
		seconds:  factory.Histograms("send_duration_seconds", "Duration of an attempt to deliver a message.", prometheus.ExponentialBuckets(0.001, 2, 15), "game", "endpoint"),
		disabled: factory.Gauges("endpoint_disabled", "1 while the endpoint is disabled, else 0, the same at every node; see `server webhooks`.", "game", "endpoint"),
	}
}

func (m *metrics) initEndpoint(endpoint *endpointState) {
	m.drops.WithLabelValues(endpoint.Game, endpoint.Name, reasonDisabled)
	m.seconds.WithLabelValues(endpoint.Game, endpoint.Name)
	m.setDisabled(endpoint, false)
}

func (m *metrics) setDisabled(endpoint *endpointState, isDisabled bool) {
	m.disabled.WithLabelValues(endpoint.Game, endpoint.Name).Set(metric.BoolValue(isDisabled))
}

func (m *metrics) observeSend(endpoint *endpointState, status int, duration time.Duration) {
	m.sends.WithLabelValues(endpoint.Game, endpoint.Name, statusLabel(status)).Inc()
	m.seconds.WithLabelValues(endpoint.Game, endpoint.Name).Observe(duration.Seconds())
}

// statusLabel returns an HTTP status as a metric label. Statuses outside of 200 to 599
// become "other", so that endpoints cannot create new labels.
func statusLabel(status int) string {
	switch {
	case status == 0:
		return "none"
	case status >= 200 && status <= 599:
		return strconv.Itoa(status)
	}
	return "other"
}
