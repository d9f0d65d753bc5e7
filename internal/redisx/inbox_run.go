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

	"laststand/internal/timer"
)

const (
	echoInterval = time.Second     // between two messages that a node sends to itself
	maxSilence   = 3 * time.Second // without any message; then the subscription counts as lost

	minRetryDelay = 50 * time.Millisecond // pause before a new subscription; doubled after each failure
	maxRetryDelay = 2 * time.Second
)

// echoMessage is the message that a node sends to itself. It has no kind and no handler.
const echoMessage = "\n"

var errUnsubscribed = errors.New("redis has ended the subscription, for example because its slot has moved")

// Run receives messages and calls their handlers until ctx ends. It then drops the messages
// that still wait, and returns nil. It subscribes again after every loss. To notice losses
// that Redis does not report, the node sends itself a message every second. The caller must
// call Run only once.
func (i *Inbox) Run(ctx context.Context) error {
	if i.client == nil {
		<-ctx.Done()
		return nil
	}
	var handlers sync.WaitGroup
	handlers.Go(func() { i.runHandlers(ctx) })
	i.keepSubscribed(ctx)
	handlers.Wait()
	return nil
}

// runHandlers calls the handlers of queued messages until ctx ends.
func (i *Inbox) runHandlers(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.missedSignal:
			i.onMissed()
		case m := <-i.queue:
			i.queuedBytes.Add(-int64(len(m.payload)))
			i.handlers[m.kind](m.payload)
		}
	}
}

// keepSubscribed subscribes, and subscribes again after each loss, until ctx ends.
func (i *Inbox) keepSubscribed(ctx context.Context) {
	retryDelay := minRetryDelay
	for {
		err := i.receiveUntilError(ctx)
		wasSubscribed := i.hasSubscription.Swap(false)
		if ctx.Err() != nil {
			return
		}
		if wasSubscribed {
			retryDelay = minRetryDelay
			i.metrics.subscriptionLosses.Inc()
		}
		if !i.lossLogged {
			i.lossLogged = true
			i.log.WarnContext(ctx, "inbox subscription failed; the node finds changes of other nodes by polling", "error", err)
		}
		if cluster, ok := i.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx) // the client does not notice failures of a subscription's connection
		}
		if !timer.Sleep(ctx, retryDelay/2+rand.N(retryDelay/2)) { //nolint:gosec // a wait is no secret
			return
		}
		retryDelay = min(2*retryDelay, maxRetryDelay)
	}
}

// receiveUntilError subscribes, queues the received messages, and returns the error that ends the
// subscription. It does not use the connection again after an error. The library would
// reconnect to the same server, which may not own the channel any more.
func (i *Inbox) receiveUntilError(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	sub, err := i.subscribe(ctx)
	var echoes sync.WaitGroup
	echoes.Go(func() {
		timer.Every(ctx, echoInterval, i.sendEcho)
		_ = sub.Close() // also ends a ReceiveTimeout that still waits
	})
	defer echoes.Wait()
	defer cancel()
	for err == nil {
		var received any
		received, err = sub.ReceiveTimeout(ctx, maxSilence)
		if err == nil {
			err = i.handleReceived(ctx, received)
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("not even the node's own messages came for %s: %w", maxSilence, err)
	}
	return err
}

func (i *Inbox) subscribe(ctx context.Context) (*redis.PubSub, error) {
	if i.isSharded {
		sub := i.client.SSubscribe(ctx)
		return sub, sub.SSubscribe(ctx, inboxChannel(i.node))
	}
	sub := i.client.Subscribe(ctx)
	return sub, sub.Subscribe(ctx, inboxChannel(i.node))
}

// sendEcho sends one message to this node. It ignores errors, because a missing echo shows
// the loss.
func (i *Inbox) sendEcho(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, echoInterval)
	defer cancel()
	_ = i.publish(ctx, i.client, i.node, []byte(echoMessage)).Err()
}

// handleReceived handles a value that the subscription received: a message, or the confirmation
// of a subscription.
func (i *Inbox) handleReceived(ctx context.Context, received any) error {
	switch received := received.(type) {
	case *redis.Message:
		i.enqueue(received.Payload)
	case *redis.Subscription:
		if strings.HasSuffix(received.Kind, "unsubscribe") {
			return errUnsubscribed
		}
		i.hasSubscription.Store(true)
		timer.Wake(i.missedSignal)
		if i.lossLogged {
			i.lossLogged = false
			i.log.InfoContext(ctx, "inbox subscription recovered")
		}
	}
	return nil
}

// enqueue queues a message for its handler. It drops the message if the queue is full.
func (i *Inbox) enqueue(frame string) {
	kind, payload, _ := strings.Cut(frame, "\n")
	if kind == "" {
		return
	}
	label := i.kindLabel(kind)
	i.metrics.received.WithLabelValues(label).Inc()
	if label == otherKind {
		return
	}
	size := int64(len(payload))
	if i.queuedBytes.Add(size) <= maxQueuedBytes {
		select {
		case i.queue <- message{kind, []byte(payload)}:
			return
		default:
		}
	}
	i.queuedBytes.Add(-size)
	i.metrics.dropped.WithLabelValues(label).Inc()
	timer.Wake(i.missedSignal)
}
