package eventq

import (
	"context"
	"errors"
	"time"

	"laststand/internal/timer"
)

const (
	lease         = 20 * time.Second
	retryInterval = time.Second     // after a call of the store without an answer
	finishTimeout = 5 * time.Second // how long a stopping node repeats such calls
)

// takeAndSend makes one take, sends its messages, and reports what became of them.
// It returns whether a full batch may be taken at once, or else when to take again; 0:
// unknown.
func (s *sender) takeAndSend(ctx context.Context, g *game, class string) (more bool, next int64) {
	if ctx.Err() != nil {
		return false, 0
	}
	if rest := g.sending.rest(); rest > 0 {
		return false, s.Now() + rest.Milliseconds() + 1
	}
	b := newBatch(g, s.ids.next())
	t, err := s.take(ctx, b, class)
	switch {
	case err != nil:
		s.untilAnswered(ctx, b, func(ctx context.Context) error { return s.takeBack(ctx, b, class) })
		return false, 0
	case len(t.Items) == 0:
		if t.Left > 0 {
			s.metrics.limited.Inc()
		}
		g.sending.restAfterEmptyTake(t, s.Now())
		return false, t.Next
	}
	more = t.Left >= g.BatchSize && t.Next <= s.Now()
	if g.sending.recordTake(time.Duration(s.Now()-t.Items[0].QueuedAt-g.FlushMS)*time.Millisecond, more); more {
		s.dispatch(ctx, g) // another worker, if the game is behind
	}
	s.sendBatch(ctx, b)
	if more && b.result.CoolUntil == 0 && len(b.result.Requeue) == 0 { // along with the next take
		s.running.Go(func() { s.finish(ctx, b) })
	} else {
		s.finish(ctx, b)
	}
	return more, t.Next
}

// take fills a batch.
func (s *sender) take(ctx context.Context, b *batch, class string) (TakeResult, error) {
	ctx, cancel := callContext(ctx)
	defer cancel()
	g := b.game
	t, err := s.Queue.Take(ctx, g.Policy, Take{
		Batch: b.result.Batch, Messages: g.sending.takeSize(), Pool: class, Now: s.Now(), Lease: lease.Milliseconds(),
	})
	s.recordError("take", err)
	b.rest, b.tried = t.Items, t.Tried
	for left := len(t.Items); left > 0; left -= g.BatchSize {
		s.metrics.flushes.WithLabelValues(g.flushTrigger(left)).Inc()
	}
	return t, err
}

// takeBack repeats a take whose outcome is unknown, and requeues what it has taken.
func (s *sender) takeBack(ctx context.Context, b *batch, class string) error {
	if _, err := s.take(ctx, b, class); err != nil {
		return err
	}
	if b.nextMessage() {
		b.result.Unused++
		b.requeue()
		s.finish(ctx, b)
	}
	return nil
}

// finish reports what became of the items of a batch. If its lease has ended, the
// store has counted them as lost.
func (s *sender) finish(ctx context.Context, b *batch) {
	call := func(ctx context.Context) error {
		ctx, cancel := callContext(ctx)
		defer cancel()
		b.result.Now = s.Now()
		err := s.Queue.Finish(ctx, b.game.Policy, b.result)
		if errors.Is(err, ErrNotInFlight) {
			s.Logger.Warn("a batch of behaviours was not in flight any more", "game", b.game.Game, "sent", b.result.Sent)
			return nil
		}
		s.recordError("finish", err)
		return err
	}
	if call(ctx) != nil {
		s.untilAnswered(ctx, b, call)
	}
}

// untilAnswered repeats a call whose outcome is unknown, until the store answers or
// the lease of the batch has ended. It does not wait for that. Until then the game
// takes no other batch.
func (s *sender) untilAnswered(ctx context.Context, b *batch, call func(context.Context) error) {
	b.game.sending.addUnanswered(1)
	s.running.Go(func() {
		defer b.game.sending.addUnanswered(-1)
		ctx, cancel := withGrace(ctx, finishTimeout)
		defer cancel()
		isAnswered := false
		for !isAnswered && time.Since(b.takenAt) < lease && timer.Sleep(ctx, retryInterval) {
			isAnswered = call(ctx) == nil
		}
	})
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
