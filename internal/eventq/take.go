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

// take fills a batch.
func (s *sender) take(ctx context.Context, b *batch, pool string) (t TakeResult, err error) {
	g := b.game
	if b.takenAt.IsZero() {
		b.takenAt = time.Now()
	}
	err = s.call(ctx, "take", func(ctx context.Context) (err error) {
		t, err = s.Queue.Take(ctx, g.Policy, Take{
			Batch: b.result.Batch, Messages: g.sending.takeSize(), Pool: pool, Now: s.Now(), Lease: lease.Milliseconds(),
		})
		return err
	})
	b.fill(t)
	for left := len(t.Items); left > 0; left -= g.BatchSize {
		s.metrics.flushes.WithLabelValues(g.flushTrigger(left)).Inc()
	}
	return t, err
}

// finish reports what became of the items of a batch. If its lease has ended, the
// store has counted them as lost.
func (s *sender) finish(ctx context.Context, b *batch) {
	s.untilAnswered(ctx, b, func() error {
		return s.call(ctx, "finish", func(ctx context.Context) error {
			b.result.Now = s.Now()
			err := s.Queue.Finish(ctx, b.game.Policy, b.result)
			if !errors.Is(err, ErrNotInFlight) {
				return err
			}
			s.Logger.Warn("a batch of behaviours was not in flight any more", "game", b.game.Game, "sent", b.result.Sent)
			return nil
		})
	})
}

// untilAnswered makes a call, and repeats it until the store answers or the lease of
// the batch has ended. The worker waits for that, without a place.
func (s *sender) untilAnswered(ctx context.Context, b *batch, call func() error) {
	ctx, cancel := withGrace(ctx, finishTimeout)
	defer cancel()
	for call() != nil {
		if !timer.Sleep(ctx, retryInterval) || time.Since(b.takenAt) >= lease {
			return
		}
	}
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
