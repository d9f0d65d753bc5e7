package redisx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"laststand/internal/metric"
)

// ErrInbox means that the inbox is not subscribed now, so that it receives no messages.
var ErrInbox = errors.New("the inbox is not subscribed")

// Limits of the queue of received messages.
const (
	maxQueuedMessages = 8192
	maxQueuedBytes    = 64 << 20
)

// InboxConfig configures an Inbox.
type InboxConfig struct {
	// Node is the unique id of this node.
	Node string
	// Registry gets the metrics; nil: none. A registry can have one Inbox only.
	Registry prometheus.Registerer
	// Logger logs losses and recoveries of the subscription; nil: no log.
	Logger *slog.Logger
}

// Inbox receives messages of other nodes, through one Redis channel per node. On a cluster
// this is a sharded channel. Messages can be lost, and a message can arrive twice. Messages
// of one caller of Send arrive in the order of the calls. When messages may have been lost,
// Inbox calls the function set by HandleMissed, which must read their content elsewhere.
//
// With an embedded Redis there are no other nodes. Then nothing is sent or received, and
// the inbox is always ready.
//
// Send and Ready are safe for concurrent use, also while Run runs.
type Inbox struct {
	client    redis.UniversalClient // nil: embedded
	isSharded bool
	node      string
	log       *slog.Logger
	metrics   *inboxMetrics
	handlers  map[string]func(payload []byte)
	onMissed  func()

	queue           chan message  // received messages that wait for their handler
	queuedBytes     atomic.Int64  // bytes of the payloads in queue
	missedSignal    chan struct{} // has a value while a call of onMissed is requested
	hasSubscription atomic.Bool
	lossLogged      bool // the current loss has been logged; only Run uses it
}

type message struct {
	kind    string
	payload []byte
}

// NewInbox makes a node's inbox. It receives nothing before Run.
func NewInbox(conn *Conn, cfg InboxConfig) *Inbox {
	inbox := &Inbox{
		isSharded: conn.Kind == KindCluster, node: cfg.Node, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		handlers: map[string]func([]byte){}, onMissed: func() {},
		queue: make(chan message, maxQueuedMessages), missedSignal: make(chan struct{}, 1),
	}
	if conn.Kind != KindEmbedded {
		inbox.client = conn.Client
	}
	inbox.metrics = newInboxMetrics(cfg.Registry, inbox.isSubscribed, func() int { return len(inbox.queue) })
	return inbox
}

// Handle sets the handler for messages of a kind, which must be a word without line
// breaks. It must be called before Run, once per kind; otherwise it panics. Run calls
// handlers, and the function of HandleMissed, one after the other, in the order of the
// messages. A handler owns its payload. Up to 8,192 messages or 64 MiB wait for a busy
// handler. Further messages are dropped, counted, and reported as missed.
func (i *Inbox) Handle(kind string, f func(payload []byte)) {
	if kind == "" || strings.Contains(kind, "\n") || i.handlers[kind] != nil {
		panic(fmt.Sprintf("inbox: kind %q is taken or no word", kind))
	}
	i.handlers[kind] = f
	i.metrics.initKind(kind)
}

// HandleMissed sets the function to call when messages may have been missed: after every
// subscription, also the first, and after dropped messages. It must be called before
// Run.
func (i *Inbox) HandleMissed(f func()) { i.onMissed = f }

// Ready returns nil while the inbox is subscribed, else ErrInbox. It does not contact
// Redis.
func (i *Inbox) Ready(context.Context) error {
	if !i.isSubscribed() {
		return ErrInbox
	}
	return nil
}

func (i *Inbox) isSubscribed() bool { return i.client == nil || i.hasSubscription.Load() }

// Send sends a message to the inboxes of other nodes, with one round trip per master. It
// skips this node. It returns when Redis has the message, at the latest after some seconds.
// It reports no errors, because messages may be lost anyway: it only counts failures, and
// messages without a subscriber.
func (i *Inbox) Send(ctx context.Context, nodes []string, kind string, payload []byte) {
	if i.client == nil {
		return
	}
	frame := append([]byte(kind+"\n"), payload...)
	var cmds []*redis.IntCmd
	_, _ = i.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, node := range nodes {
			if node != i.node {
				cmds = append(cmds, i.publish(ctx, p, node, frame))
			}
		}
		return nil
	})
	for _, cmd := range cmds {
		subscribers, err := cmd.Result()
		i.metrics.recordSent(i.kindLabel(kind), subscribers, err)
	}
}

func (i *Inbox) publish(ctx context.Context, c redis.Cmdable, node string, frame []byte) *redis.IntCmd {
	if i.isSharded {
		return c.SPublish(ctx, inboxChannel(node), frame)
	}
	return c.Publish(ctx, inboxChannel(node), frame)
}

func inboxChannel(node string) string { return "inbox:" + node }

// kindLabel returns the label of a kind in metrics: the kind if it has a handler, else
// other.
func (i *Inbox) kindLabel(kind string) string {
	if i.handlers[kind] == nil {
		return otherKind
	}
	return kind
}

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
