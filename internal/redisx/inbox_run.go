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
	echoEvery = time.Second     // a node sends itself something, so that silence tells
	maxSilent = 3 * time.Second // then the subscription is taken for lost

	minPause = 50 * time.Millisecond // before subscribing again, doubled while that fails
	maxPause = 2 * time.Second
)

// echo is a message of no kind, which nobody handles.
const echo = "\n"

var errMoved = errors.New("redis has ended the subscription, as when its slot moves")

// Run receives messages and has them handled until ctx ends, and returns nil
// then; what still waits is dropped. It subscribes again whenever the
// subscription is lost, also where Redis does not say so: every second the node
// sends itself a message, by the way that those of others take. It is called
// once.
func (b *Inbox) Run(ctx context.Context) error {
	if b.client == nil {
		<-ctx.Done()
		return nil
	}
	var handling sync.WaitGroup
	handling.Go(func() { b.handle(ctx) })
	b.listen(ctx)
	handling.Wait()
	return nil
}

// handle calls whom messages are for.
func (b *Inbox) handle(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.missed:
			b.onMissed()
		case m := <-b.waiting:
			b.bytes.Add(-int64(len(m.payload)))
			b.handlers[m.kind](m.payload)
		}
	}
}

// listen keeps a subscription.
func (b *Inbox) listen(ctx context.Context) {
	wait := minPause
	for {
		err := b.receive(ctx)
		had := b.subscribed.Swap(false)
		if ctx.Err() != nil {
			return
		}
		if had {
			wait = minPause
			b.metrics.lost.Inc()
		}
		if !b.deaf {
			b.deaf = true
			b.log.WarnContext(ctx, "inbox subscription failed; the node finds changes of other nodes by polling", "error", err)
		}
		if cluster, ok := b.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx) // the connection of a subscription is not the client's to judge by
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait/2)): //nolint:gosec // a wait is no secret
		}
		wait = min(2*wait, maxPause)
	}
}

// receive subscribes and takes in what comes, and says why no more does. A
// connection that was lost is not used again, although the library would: it
// asks the same server, which may not be the channel's any more.
func (b *Inbox) receive(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	sub, err := b.subscribe(ctx)
	var attending sync.WaitGroup
	attending.Go(func() { b.attend(ctx, sub) })
	defer attending.Wait()
	defer cancel()
	for err == nil {
		var got any
		got, err = sub.ReceiveTimeout(ctx, maxSilent)
		if err == nil {
			err = b.take(ctx, got)
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("not even the node's own messages came for %s: %w", maxSilent, err)
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

// attend echoes until ctx ends, and then ends the subscription.
func (b *Inbox) attend(ctx context.Context, sub *redis.PubSub) {
	defer sub.Close()
	next := time.NewTicker(echoEvery)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			b.echo(ctx)
		}
	}
}

// echo fails in silence, which is what it is for.
func (b *Inbox) echo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, echoEvery)
	defer cancel()
	_ = b.publish(ctx, b.client, b.node, []byte(echo)).Err()
}

// take sorts what a subscription receives.
func (b *Inbox) take(ctx context.Context, got any) error {
	switch got := got.(type) {
	case *redis.Message:
		b.keep(got.Payload)
	case *redis.Subscription:
		if strings.HasSuffix(got.Kind, "unsubscribe") {
			return errMoved
		}
		b.subscribed.Store(true)
		b.miss()
		if b.deaf {
			b.deaf = false
			b.log.InfoContext(ctx, "inbox subscription recovered")
		}
	}
	return nil
}

// keep has a message wait for its handler, if there is one, and room.
func (b *Inbox) keep(frame string) {
	kind, payload, _ := strings.Cut(frame, "\n")
	if kind == "" {
		return
	}
	label := b.label(kind)
	b.metrics.received.WithLabelValues(label).Inc()
	if label == otherKind {
		return
	}
	size := int64(len(payload))
	if b.bytes.Add(size) <= maxWaitingBytes {
		select {
		case b.waiting <- message{kind, []byte(payload)}:
			return
		default:
		}
	}
	b.bytes.Add(-size)
	b.metrics.dropped.WithLabelValues(label).Inc()
	b.miss()
}

// miss has the function of HandleMissed called once more, from now.
func (b *Inbox) miss() {
	select {
	case b.missed <- struct{}{}:
	default:
	}
}
