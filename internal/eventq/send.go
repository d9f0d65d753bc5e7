package eventq

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"
)

const (
	maxAttempts    = 8
	forbiddenPause = time.Minute // no attempt of a game whose keys or rights are wrong
)

// sendBatch sends the messages of a batch in order. It returns true if the batch
// must be finished, and false if its current message waits for a retry. Then, or
// after a slow attempt, the messages behind it are requeued, because nothing
// renews their lease.
func (s *sender) sendBatch(ctx context.Context, b *batch) (isDone bool) {
	for {
		s.sendMessage(ctx, b)
		switch {
		case len(b.items) > 0:
			b.requeueRest()
			return false
		case len(b.rest) == 0:
			return true
		case b.isLate():
			b.requeueRest()
			return true
		}
		b.nextMessage()
	}
}

// sendMessage makes an attempt to send the fresh items of the current message.
// Items that are left wait for a retry.
func (s *sender) sendMessage(ctx context.Context, b *batch) {
	now := b.now(s.Now())
	if b.isStale(now) {
		b.unuse()
		return
	}
	if ctx.Err() != nil { // a stopping node starts no attempt
		b.requeue()
		return
	}
	b.attempts++
	o, took := s.send(ctx, b, now)
	isForbidden := b.applyOutcome(o)
	b.game.sending.recordSend(len(b.items) == 0 && !isForbidden, took)
	s.apply(ctx, b, o, isForbidden)
	switch {
	case len(b.items) == 0:
	case o.Pause:
		b.requeue()
	case b.attempts >= maxAttempts:
		b.dropAll(RetriesExhausted)
	default:
		b.retryAt = time.Now().Add(max(backoff(b.attempts), o.RetryAfter))
	}
}

// send makes one attempt. The end of the service does not cut it off.
func (s *sender) send(ctx context.Context, b *batch, now int64) (Outcome, time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SendTimeoutMS*time.Millisecond)
	defer cancel()
	s.metrics.observeSend(b, now)
	began := time.Now()
	o := b.game.callSink(ctx, s.Logger, Batch{ID: b.sendID(), Game: b.game.Game, Items: b.items, Now: now})
	took := time.Since(began)
	s.metrics.observeAnswer(o, took)
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

// apply lets the game cool down or pauses it after an answer, and records the
// error for operators.
func (s *sender) apply(ctx context.Context, b *batch, o Outcome, isForbidden bool) {
	cool := o.RetryAfter
	if isForbidden {
		cool = max(cool, forbiddenPause)
	}
	if cool == 0 && !o.Pause && o.Err == nil && len(b.items) == 0 {
		return
	}
	cause, now, until := o.Code, s.Now(), int64(0)
	if o.Err != nil {
		cause = o.Err.Error()
	}
	if cool > 0 {
		b.game.sending.coolDown(cool)
		until = now + cool.Milliseconds()
	}
	ctx, cancel := callContext(ctx)
	defer cancel()
	s.recordError("record_failure", s.Queue.RecordFailure(ctx, b.game.Game, cause, now, until))
	if o.Pause {
		s.Logger.Warn("a game is paused, as the far side wants no more behaviours", "game", b.game.Game, "reason", cause)
		s.recordError("pause", s.Admin.Pause(ctx, b.game.Game, cause))
	}
}
