package redisx

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	echoInterval = time.Second     // between two messages that a node sends to itself
	maxSilence   = 3 * time.Second // without any message; then the subscription counts as lost

	minPause = 50 * time.Millisecond // pause before a new subscription; doubled after each failure
	maxPause = 2 * time.Second
)

// echoFrame is the message that a node sends to itself. It has no kind and no handler.
const echoFrame = "\n"

var errUnsubscribed = errors.New("redis has ended the subscription, for example because its slot has moved")

// Run receives messages and calls their handlers until ctx ends. It then drops the messages
// that still wait, and returns nil. It subscribes again after every loss. To notice losses
// that Redis does not report, the node sends itself a message every second. The caller must
// call Run only once.
func (b *Inbox) Run(ctx context.Context) error {
	if b.client == nil {
		<-ctx.Done()
		return nil
	}
	var handlers sync.WaitGroup
	handlers.Go(func() { b.handle(ctx) })
	b.listen(ctx)
	handlers.Wait()
	return nil
}

// handle calls the handlers of queued messages until ctx ends.
func (b *Inbox) handle(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.missed:
			b.onMissed()
		case m := <-b.queue:
			b.queuedBytes.Add(-int64(len(m.payload)))
			b.handlers[m.kind](m.payload)
		}
	}
}

// listen subscribes, and subscribes again after each loss, until ctx ends.
func (b *Inbox) listen(ctx context.Context) {
	pause := minPause
	for {
		err := b.receive(ctx)
		wasSubscribed := b.subscribed.Swap(false)
		if ctx.Err() != nil {
			return
		}
		if wasSubscribed {
			pause = minPause
			b.metrics.lost.Inc()
		}
		if !b.lossLogged {
			b.lossLogged = true
			b.log.WarnContext(ctx, "inbox subscription failed; the node finds changes of other nodes by polling", "error", err)
		}
		if cluster, ok := b.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx) // the client does not notice failures of a subscription's connection
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause/2)): //nolint:gosec // a wait is no secret
		}
		pause = min(2*pause, maxPause)
	}
}

// receive subscribes, queues the received messages, and returns the error that ends the
// subscription. It does not use the connection again after an error. The library would
// reconnect to the same server, which may not own the channel any more.
func (b *Inbox) receive(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	sub, err := b.subscribe(ctx)
	var echoes sync.WaitGroup
	echoes.Go(func() { b.sendEchoes(ctx, sub) })
	defer echoes.Wait()
	defer cancel()
	for err == nil {
		var received any
		received, err = sub.ReceiveTimeout(ctx, maxSilence)
		if err == nil {
			err = b.dispatch(ctx, received)
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("not even the node's own messages came for %s: %w", maxSilence, err)
	}
	return err
}

func (b *Inbox) subscribe(ctx context.Context) (*redis.PubSub, error) {
	if b.sharded {
		sub := b.client.SSubscribe(ctx)
		return sub, sub.SSubscribe(ctx, channelOf(b.node))
	}
	sub := b.client.Subscribe(ctx)
	return sub, sub.Subscribe(ctx, channelOf(b.node))
}

// sendEchoes sends echoes until ctx ends, and closes the subscription.
func (b *Inbox) sendEchoes(ctx context.Context, sub *redis.PubSub) {
	defer sub.Close()
	next := time.NewTicker(echoInterval)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			b.sendEcho(ctx)
		}
	}
}

// sendEcho sends one message to this node. It ignores errors, because a missing echo shows
// the loss.
func (b *Inbox) sendEcho(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, echoInterval)
	defer cancel()
	_ = b.publish(ctx, b.client, b.node, []byte(echoFrame)).Err()
}

// dispatch handles a value that the subscription received: a message, or the confirmation
// of a subscription.
func (b *Inbox) dispatch(ctx context.Context, received any) error {
	switch received := received.(type) {
	case *redis.Message:
		b.enqueue(received.Payload)
	case *redis.Subscription:
		if strings.HasSuffix(received.Kind, "unsubscribe") {
			return errUnsubscribed
		}
		b.subscribed.Store(true)
		b.signalMissed()
		if b.lossLogged {
			b.lossLogged = false
			b.log.InfoContext(ctx, "inbox subscription recovered")
		}
	}
	return nil
}

// enqueue queues a message for its handler. It drops the message if the queue is full.
func (b *Inbox) enqueue(frame string) {
	kind, payload, _ := strings.Cut(frame, "\n")
	if kind == "" {
		return
	}
	label := b.kindLabel(kind)
	b.metrics.received.WithLabelValues(label).Inc()
	if label == otherKind {
		return
	}
	size := int64(len(payload))
	if b.queuedBytes.Add(size) <= maxQueuedBytes {
		select {
		case b.queue <- message{kind, []byte(payload)}:
			return
		default:
		}
	}
	b.queuedBytes.Add(-size)
	b.metrics.dropped.WithLabelValues(label).Inc()
	b.signalMissed()
}

// signalMissed requests a call of the function of HandleMissed.
func (b *Inbox) signalMissed() {
	select {
	case b.missed <- struct{}{}:
	default:
	}
}
