package eventq

import (
	"context"
	"time"
)

const leaseMS = 20_000

// takeAndSend makes one take and sends its messages. It returns whether a full
// batch is left, or else when to take again; 0: unknown.
func (s *sender) takeAndSend(ctx context.Context, g *game, class string) (more bool, next int64) {
	if ctx.Err() != nil {
		return false, 0
	}
	if rest := g.sending.rest(); rest > 0 {
		return false, s.Now() + rest.Milliseconds() + 1
	}
	b := newBatch(g, s.ids.next(), s.Now())
	t, err := s.take(ctx, b, class, g.sending.messagesToTake(g.BatchSize))
	switch {
	case err != nil:
		g.sending.restAfterEmptyTake(TakeResult{}, s.Now())
		return false, 0
	case len(t.Items) == 0:
		if t.Left > 0 {
			s.metrics.limited.Inc()
		}
		g.sending.restAfterEmptyTake(t, s.Now())
		return false, t.Next
	}
	g.sending.measure(len(t.Items), t.Left)
	if more = t.Left >= g.BatchSize; more {
		s.dispatch(ctx, g) // another worker, if the game is behind
	}
	switch {
	case !s.sendBatch(ctx, b):
		s.wait(ctx, b)
	case more && len(b.result.Requeue) == 0: // along with the next take
		s.running.Go(func() { s.finish(ctx, b) })
	default:
		s.finish(ctx, b)
	}
	return more, t.Next
}

// take fills a batch, and repeats the call once if its outcome is unknown. If it
// stays unknown, the batch waits to be taken again.
func (s *sender) take(ctx context.Context, b *batch, class string, messages int) (t TakeResult, err error) {
	for range 2 {
		b.takenAt, b.startedAt = s.Now(), time.Now()
		if t, err = s.callTake(ctx, b, class, messages); err == nil {
			return t, nil
		}
	}
	s.wait(ctx, b)
	return t, err
}

// callTake makes one call. If it succeeds, the next step is to send the batch.
func (s *sender) callTake(ctx context.Context, b *batch, class string, messages int) (TakeResult, error) {
	ctx, cancel := callContext(ctx)
	defer cancel()
	t, err := s.Queue.Take(ctx, b.game.Policy, Take{
		Batch: b.id, Messages: messages, Node: s.Node, Pool: class, Now: b.now(s.Now()), Lease: leaseMS,
	})
	s.recordError("take", err)
	if err != nil {
		return t, err
	}
	b.step, b.rest = stepSend, t.Items
	b.nextMessage()
	for left := len(t.Items); left > 0; left -= b.game.BatchSize {
		s.metrics.flushes.WithLabelValues(b.game.flushTrigger(left)).Inc()
	}
	return t, nil
}

// flushTrigger returns why a message leaves: a label of a metric.
func (g *game) flushTrigger(items int) string {
	switch {
	case g.sending.drains.Load() > 0:
		return "drain"
	case items >= g.BatchSize:
		return "size"
	}
	return "age"
}
