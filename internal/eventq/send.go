package eventq

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"laststand/internal/timer"
)

const (
	lease         = 20 * time.Second
	retryInterval = time.Second     // after a call of the store without an answer
	finishTimeout = 5 * time.Second // how long a stopping node repeats such calls
)

// take fills a batch. No message has been tried yet.
func (s *sender) take(ctx context.Context, b *batch) (t TakeResult, err error) {
	g := b.game
	if b.takenAt.IsZero() {
		b.takenAt = time.Now()
	}
	err = s.call(ctx, "take", func(ctx context.Context) (err error) {
		t, err = s.Queue.Take(ctx, g.Policy, Take{Batch: b.result.Batch, Messages: g.sending.takeSize(), Now: s.Now(), Lease: lease.Milliseconds()})
		return err
	})
	b.rest, b.tried = t.Items, t.Tried
	for left := len(t.Items); left > 0; left -= g.BatchSize {
		b.result.Unused++
		s.metrics.flushes.WithLabelValues(g.flushTrigger(left)).Inc()
	}
	return t, err
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

// sendBatch sends the messages of a batch in order, one attempt each. It requeues them
// from the first failed one on, when the node stops, or when an attempt might outlast the
// lease. The queue keeps a failed message until its next attempt.
func (s *sender) sendBatch(ctx context.Context, b *batch) {
	for b.nextMessage() {
		if ctx.Err() != nil || time.Since(b.takenAt) > lease/2 {
			b.requeue()
		} else {
			s.sendMessage(ctx, b)
		}
	}
}

// sendMessage makes an attempt to send the fresh items of the current message.
func (s *sender) sendMessage(ctx context.Context, b *batch) {
	now := s.Now()
	if b.dropStale(now); len(b.items) == 0 {
		return
	}
	b.result.Unused--
	if b.tried.Attempts++; b.tried.Attempts > 1 {
		s.metrics.retries.Inc()
	}
	o, took := s.attempt(ctx, b, now)
	b.game.sending.recordSend(b.applyOutcome(o, s.Now()), took)
	if o.Pause {
		s.Logger.Warn("a game is paused, as the far side wants no more behaviours", "game", b.game.Game, "reason", b.result.Error)
	}
}

// attempt makes one attempt. The end of the service does not cut it off.
func (s *sender) attempt(ctx context.Context, b *batch, now int64) (Outcome, time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SendTimeoutMS*time.Millisecond)
	defer cancel()
	s.metrics.batch.Observe(float64(len(b.items)))
	for _, item := range b.items {
		s.metrics.age.Observe(float64(now-item.At) / 1000)
	}
	began := time.Now()
	o := b.game.callSink(ctx, s.Logger, Batch{ID: b.tried.ID, Game: b.game.Game, Items: b.items, Now: now})
	took := time.Since(began)
	s.metrics.seconds.Observe(took.Seconds())
	s.metrics.sends.WithLabelValues(o.Code).Inc()
	return o, took
}

// callSink calls the sink. A sink that panics has not sent the batch.
func (g *game) callSink(ctx context.Context, log *slog.Logger, b Batch) (o Outcome) {
	defer func() {
		if recover() != nil { // the panic value may be personal data
			log.Error("a sink panicked", "game", g.Game, "stack", string(debug.Stack()))
			o = Outcome{Code: "panic", Err: errors.New("the sink panicked")}
		}
	}()
	return g.sink.Send(ctx, b)
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
