package redisx

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// otherKind stands for every kind that this node does not handle.
const otherKind = "other"

// The outcomes of laststand_inbox_sent_total.
const (
	outcomeHeard   = "heard"
	outcomeUnheard = "unheard" // nobody is subscribed: the node is gone, or between two subscriptions
	outcomeFailed  = "failed"
)

type inboxMetrics struct {
	sent     *prometheus.CounterVec
	received *prometheus.CounterVec
	dropped  *prometheus.CounterVec
	lost     prometheus.Counter
}

func newInboxMetrics(b *Inbox, r prometheus.Registerer) *inboxMetrics {
	f := promauto.With(r)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_inbox_subscribed", Help: "1 while other nodes' messages can come.",
	}, func() float64 {
		if b.listening() {
			return 1
		}
		return 0
	})
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_inbox_waiting", Help: "Messages of other nodes that wait for their handler.",
	}, func() float64 { return float64(len(b.waiting)) })
	m := &inboxMetrics{
		sent: f.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_inbox_sent_total", Help: "Messages to other nodes, by kind and what became of them.",
		}, []string{"kind", "outcome"}),
		received: f.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_inbox_received_total", Help: "Messages of other nodes, by kind; those of kind other are not handled.",
		}, []string{"kind"}),
		dropped: f.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_inbox_dropped_total", Help: "Messages received that found no room to wait; what they told is found later.",
		}, []string{"kind"}),
		lost: f.NewCounter(prometheus.CounterOpts{
			Name: "laststand_inbox_lost_total", Help: "Subscriptions that were lost.",
		}),
	}
	m.know(otherKind)
	return m
}

// know begins the counts of a kind at 0.
func (m *inboxMetrics) know(kind string) {
	for _, outcome := range []string{outcomeHeard, outcomeUnheard, outcomeFailed} {
		m.sent.WithLabelValues(kind, outcome)
	}
	m.received.WithLabelValues(kind)
	m.dropped.WithLabelValues(kind)
}

func (m *inboxMetrics) sentOne(kind string, listeners int64, err error) {
	outcome := outcomeHeard
	switch {
	case err != nil:
		outcome = outcomeFailed
	case listeners == 0:
		outcome = outcomeUnheard
	}
	m.sent.WithLabelValues(kind, outcome).Inc()
}
