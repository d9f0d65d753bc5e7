package redisx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// ErrInbox is what Ready returns.
var ErrInbox = errors.New("the inbox is not subscribed")

// Bounds of the messages that wait for their handlers.
const (
	maxWaiting      = 8192
	maxWaitingBytes = 64 << 20
)

// InboxConfig says whose inbox it is and whom it tells.
type InboxConfig struct {
	// Node is the id of this node, which no other has.
	Node string
	// Registry takes the metrics; nil for none. It takes those of one Inbox only.
	Registry prometheus.Registerer
	// Logger hears when the subscription is lost and had again; nil for none.
	Logger *slog.Logger
}

// Inbox is where a node gets what other nodes send it, through one channel of
// Redis a node: a sharded one on a cluster. Messages can be lost, and one can
// come twice; those that come from one caller of Send come in its order. What a
// message tells must therefore be found elsewhere too: the function given to
// HandleMissed is called when there may be something to find.
//
// An embedded Redis has no other node: there nothing is sent, nothing comes and
// the inbox is always ready.
//
// Send and Ready are for concurrent use, also while Run runs.
type Inbox struct {
	client   redis.UniversalClient // nil: embedded
	sharded  bool
	node     string
	log      *slog.Logger
	metrics  *inboxMetrics
	handlers map[string]func(payload []byte)
	onMissed func()

	waiting    chan message
	bytes      atomic.Int64  // of waiting
	missed     chan struct{} // holds one while onMissed is to be called
	subscribed atomic.Bool
	deaf       bool // Run's: it has said that the inbox is not subscribed
}

type message struct {
	kind    string
	payload []byte
}

// NewInbox makes a node's inbox. Nothing is received before Run.
func NewInbox(conn *Conn, cfg InboxConfig) *Inbox {
	b := &Inbox{
		sharded: conn.Kind == KindCluster, node: cfg.Node, log: cfg.Logger,
		handlers: map[string]func([]byte){}, onMissed: func() {},
		waiting: make(chan message, maxWaiting), missed: make(chan struct{}, 1),
	}
	if conn.Kind != KindEmbedded {
		b.client = conn.Client
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.metrics = newInboxMetrics(b, cfg.Registry)
	return b
}

// Handle has messages of a kind, a word without line breaks, handled by f. It
// is called before Run, once for a kind, and panics otherwise. Handlers, and
// the function of HandleMissed, are called one after the other, in the order in
// which messages came, by Run; a payload is theirs to keep. While one is busy
// up to 8,192 messages or 64 MiB wait. What comes beyond that is dropped,
// counted, and missed.
func (b *Inbox) Handle(kind string, f func(payload []byte)) {
	if kind == "" || strings.Contains(kind, "\n") || b.handlers[kind] != nil {
		panic(fmt.Sprintf("inbox: kind %q is taken or no word", kind))
	}
	b.handlers[kind] = f
	b.metrics.know(kind)
}

// HandleMissed has f called, before Run, when messages may have been missed: at
// every subscription, the first one too, and after some were dropped.
func (b *Inbox) HandleMissed(f func()) { b.onMissed = f }

// Ready is nil while the inbox is subscribed, and else ErrInbox. It asks nobody.
func (b *Inbox) Ready(context.Context) error {
	if !b.listening() {
		return ErrInbox
	}
	return nil
}

func (b *Inbox) listening() bool { return b.client == nil || b.subscribed.Load() }

// Send sends a message to the inboxes of other nodes, in one round trip to each
// master concerned; this node among them is left out. It returns once Redis has
// the message or after some seconds at most. What could not be sent, or was
// heard by nobody, is only counted: a message may be lost anyway.
func (b *Inbox) Send(ctx context.Context, nodes []string, kind string, payload []byte) {
	if b.client == nil {
		return
	}
	frame := append([]byte(kind+"\n"), payload...)
	var cmds []*redis.IntCmd
	_, _ = b.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, node := range nodes {
			if node != b.node {
				cmds = append(cmds, b.publish(ctx, p, node, frame))
			}
		}
		return nil
	})
	for _, cmd := range cmds {
		heard, err := cmd.Result()
		b.metrics.sentOne(b.label(kind), heard, err)
	}
}

func (b *Inbox) publish(ctx context.Context, c redis.Cmdable, node string, frame []byte) *redis.IntCmd {
	if b.sharded {
		return c.SPublish(ctx, channelOf(node), frame)
	}
	return c.Publish(ctx, channelOf(node), frame)
}

func channelOf(node string) string { return "inbox:" + node }

// label is a kind as the metrics name it: one that is handled, or other.
func (b *Inbox) label(kind string) string {
	if b.handlers[kind] == nil {
		return otherKind
	}
	return kind
}
