package eventq

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"
)

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
