package redisx

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

// otherKind is the label of every kind that this node does not handle.
const otherKind = "other"

// Outcomes of laststand_inbox_messages_sent_total.
const (
	outcomeDelivered    = "delivered"
	outcomeNoSubscriber = "no_subscriber" // the node has ended, or is between two subscriptions
	outcomeFailed       = "failed"
)

type inboxMetrics struct {
	sent               *prometheus.CounterVec
	received           *prometheus.CounterVec
	dropped            *prometheus.CounterVec
	subscriptionLosses prometheus.Counter
}

func newInboxMetrics(r prometheus.Registerer, isSubscribed func() bool, queueLength func() int) *inboxMetrics {
	factory := metric.For(r, "laststand_inbox_")
	factory.GaugeFunc("subscription_active", "1 while this node receives messages of other nodes, else 0.", func() float64 { return metric.BoolValue(isSubscribed()) })
	factory.GaugeFunc("queue_length", "Messages of other nodes that wait for their handler.", func() float64 { return float64(queueLength()) })
	metrics := &inboxMetrics{
		sent:               factory.Counters("messages_sent_total", "Messages to other nodes, by kind and outcome.", "kind", "outcome"),
		received:           factory.Counters("messages_received_total", "Messages of other nodes, by kind; this node does not handle those of kind other.", "kind"),
		dropped:            factory.Counters("messages_dropped_total", "Messages of other nodes that this node dropped because its queue was full; it finds their changes later.", "kind"),
		subscriptionLosses: factory.Counter("subscription_losses_total", "Subscriptions that this node lost."),
	}
	metrics.initKind(otherKind)
	return metrics
}

// initKind creates the counters of a kind with the value 0.
func (m *inboxMetrics) initKind(kind string) {
	for _, outcome := range []string{outcomeDelivered, outcomeNoSubscriber, outcomeFailed} {
		m.sent.WithLabelValues(kind, outcome)
	}
	m.received.WithLabelValues(kind)
	m.dropped.WithLabelValues(kind)
}

// recordSent counts a message to one node. The number of subscribers and err are the result
// of the command that published it.
func (m *inboxMetrics) recordSent(kind string, subscribers int64, err error) {
	outcome := outcomeDelivered
	switch {
	case err != nil:
		outcome = outcomeFailed
	case subscribers == 0:
		outcome = outcomeNoSubscriber
	}
	m.sent.WithLabelValues(kind, outcome).Inc()
}
